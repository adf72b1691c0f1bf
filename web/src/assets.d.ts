/** The build puts the file beside the page and gives its address, relative to the page. */
declare module "world-atlas/land-50m.json" {
  const address: string;
  export default address;
}
