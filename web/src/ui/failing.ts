/** Shows why the page's script cannot begin in this browser; imported before all that may fail. */
addEventListener("error", ({ error, message }) => {
  const [chip, notice] = [document.querySelector("#chip b"), document.getElementById("map-notice")];
  if ("steppe" in globalThis || !chip || !notice) return; // once the page's script works, the page shows its own errors
  chip.textContent = "The page cannot start";
  notice.textContent = error?.message ?? message;
  notice.hidden = false;
});
