// Builds the page: index.html beside assets/, whose names hold the digests of what they contain. Argument: the folder, the package's own without one.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const out = process.argv[2] ?? join(here, "../src/steppe/server/page");
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts", "style.css", "icon.svg"],
  outdir: out,
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  assetNames: "assets/[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  splitting: true,
  target: "es2022",
  legalComments: "none",
  loader: { ".json": "file", ".svg": "copy" }, // the coastline is fetched after the first map
  metafile: true,
});
const start = await build({
  absWorkingDir: here,
  entryPoints: ["src/start.ts"], // has no part in common with the page's script, for which it would have to wait
  outdir: out,
  entryNames: "assets/[name]-[hash]",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  metafile: true,
});
const [style] = Object.keys(metafile.outputs).filter((path) => path.endsWith(".css"));
await build({
  absWorkingDir: here,
  entryPoints: ["src/widget.ts"],
  outfile: join(out, "widget.js"), // read by Python, for notebooks; no browser asks for it
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  define: { STYLE: JSON.stringify(await readFile(join(here, style), "utf8")) },
});
let page = await readFile(join(here, "index.html"), "utf8");
for (const [path, { entryPoint }] of Object.entries({ ...metafile.outputs, ...start.metafile.outputs })) {
  if (entryPoint) page = page.replaceAll(basename(entryPoint), `assets/${basename(path)}`);
}
await writeFile(join(out, "index.html"), page);
