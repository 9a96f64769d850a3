function detail(index, position) {
  const comparison = facts.comparisons[index];
  const layer = layerOf(comparison, position);
  const box = element("div");
  box.append(element("p", `Layer ${layer.name}, call ${layer.call}, type ${layer.type}: number ${position + 1} of ${layersOf(comparison)}.`));
  const list = element("dl");
  onEveryPair(comparison, position).forEach(({ pair, layer: same }) => {
    const rate = show(same.rate) + (same.highlighted ? " (highlighted)" : "");
    list.append(element("dt", pair), element("dd", `δ ${show(same.deviation)}  ·  R_L ${rate}  ·  e ${show(same.error)}`));
  });
  box.append(list, ...findingsAt(layer).map(findingLine));
  const button = element("button", "Show in the map", "plain-button");
  button.type = "button";
  button.addEventListener("click", () => showInMap(index, position));
  box.append(button);
  return box;
}

function toggle(row) {
  const button = row.querySelector("button");
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) {
    row.nextElementSibling.remove();
    return;
  }
  const inserted = element("tr", undefined, "detail");
  const cell = inserted.insertCell();
  cell.colSpan = row.cells.length;
  cell.append(detail(Number(row.dataset.comparison), Number(row.dataset.layer)));
  row.after(inserted);
}

function filter(tools) {
  const words = tools.querySelector("input[type=search]").value.toLowerCase().split(/\s+/).filter(Boolean);
  const only = tools.querySelector("input[type=checkbox]");
  const items = document.querySelectorAll(`#${tools.dataset.filters} [data-text]`);
  let shown = 0;
  items.forEach((item) => {
    const text = item.dataset.text.toLowerCase();
    const fits = words.every((word) => text.includes(word)) && (!only || !only.checked || item.dataset.suspicious === "true");
    item.hidden = !fits;
    const next = item.nextElementSibling;
    if (next && next.classList.contains("detail")) next.hidden = !fits;
    shown += fits ? 1 : 0;
  });
  tools.querySelector("output").textContent = `${shown} of ${items.length}`;
}

function reveal() {
  const wanted = document.getElementById(location.hash.slice(1));
  if (!wanted) return;
  const section = wanted.closest("details:not(.plain)");
  if (section) section.open = true;
  if (wanted.matches("tr[data-layer]")) {
    wanted.hidden = false;
    if (wanted.querySelector("button").getAttribute("aria-expanded") !== "true") toggle(wanted);
  }
  wanted.scrollIntoView({ block: "center" });
}

// Paper unfolds nothing: everything is open while the page is printed, and folded again afterwards.
function unfold(part) {
  part.querySelectorAll("details:not([open])").forEach((folded) => {
    folded.open = true;
    folded.dataset.unfolded = "";
    const map = folded.matches(".comparison") && folded.querySelector("figure.map");
    if (map) mapOf(map);
  });
}

function foldAgain() {
  document.querySelectorAll("details[data-unfolded]").forEach((part) => {
    part.open = false;
    delete part.dataset.unfolded;
  });
}

document.querySelectorAll("[data-filters]").forEach((tools) => {
  tools.hidden = false;
  tools.addEventListener("input", () => filter(tools));
  filter(tools);
});
document.querySelectorAll(".layers tbody").forEach((body) => body.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-layer]");
  if (row) toggle(row);
}));
document.querySelectorAll("details.comparison").forEach((section) => {
  const figure = section.querySelector("figure.map");
  if (!figure) return;
  section.addEventListener("toggle", () => { if (section.open) mapOf(figure); });
  if (section.open) mapOf(figure);
});
window.addEventListener("hashchange", reveal);
window.addEventListener("beforeprint", () => unfold(document));
window.addEventListener("afterprint", foldAgain);
reveal();
listFindings().then(() => {
  performance.mark("ready");
  document.documentElement.dataset.ready = "true";
});
