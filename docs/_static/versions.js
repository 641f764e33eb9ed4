// Lists the versions that stand beside this one: versions.json, which tools/publish_site.py writes. A site by itself has none.
addEventListener("DOMContentLoaded", () => {
  const select = document.getElementById("versions");
  if (!select) return;
  const above = new URL("..", new URL(select.dataset.root, location.href));
  const here = decodeURIComponent(new URL(select.dataset.root, location.href).pathname.split("/").at(-2));
  if (location.protocol === "file:") return;
  fetch(new URL("versions.json", above))
    .then((answer) => (answer.ok ? answer.json() : []))
    .then((names) => {
      if (names.length) select.replaceChildren(...names.map((name) => new Option(name, name, false, name === here)));
    })
    .catch(() => {});
  select.addEventListener("change", () => location.assign(new URL(`${encodeURIComponent(select.value)}/`, above)));
});
