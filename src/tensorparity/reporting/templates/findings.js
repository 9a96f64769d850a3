// Cards of findings: those of the page as it opened, and thousands more that are unpacked and drawn when looked at.
const DRAWN_AT_ONCE = 100;

async function unpacked() {
  const holder = document.getElementById("more-findings");
  if (!holder) return [];
  const bytes = Uint8Array.from(atob(holder.content.textContent.trim()), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const cards = JSON.parse(await new Response(stream).text());
  return cards.map(([markup, api, suspects, kind, text]) => ({ markup, api, suspects, kind, text: text.toLowerCase(), card: null }));
}

// The markup was escaped where it was made, and the page's policy runs no script in it.
function cardOf(item) {
  if (!item.card) {
    const holder = document.createElement("template");
    holder.innerHTML = item.markup;
    item.card = holder.content.firstElementChild;
  }
  return item.card;
}

function shownAtFirst() {
  return Array.from(document.querySelectorAll("#findings > .finding")).map((card) => ({
    card, api: card.dataset.api, suspects: card.dataset.suspects, kind: card.dataset.kind, text: card.dataset.text.toLowerCase(),
  }));
}

class FindingList {
  constructor(items) {
    this.items = items;
    this.box = document.getElementById("findings");
    this.tools = document.getElementById("finding-tools");
    this.button = document.getElementById("more-button");
    this.limit = DRAWN_AT_ONCE;
    if (this.button) this.button.addEventListener("click", () => this.grow());
  }

  offerChoices() {
    this.tools.hidden = false;
    this.tools.querySelectorAll("select[data-by]").forEach((select) => {
      const by = select.dataset.by;
      const values = new Set(this.items.flatMap((item) => (by === "suspects" ? item.suspects.split(" ") : [item[by]])));
      Array.from(values).filter(Boolean).sort().forEach((value) => {
        const option = element("option", value);
        option.value = value;
        select.append(option);
      });
    });
    this.tools.addEventListener("input", () => { this.limit = DRAWN_AT_ONCE; this.draw(); });
  }

  fitting() {
    if (!this.tools) return this.items;
    const words = this.tools.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Array.from(this.tools.querySelectorAll("select[data-by]")).filter((select) => select.value);
    return this.items.filter((item) => words.every((word) => item.text.includes(word))
      && wanted.every((select) => item[select.dataset.by].split(" ").includes(select.value)));
  }

  get groupedBy() {
    return this.tools ? this.tools.querySelector("select.grouping").value : "";
  }

  // Groups in the order of their worst finding, which comes first in each.
  groupsOf(items) {
    const groups = new Map();
    items.forEach((item) => {
      const name = item[this.groupedBy] || "–";
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(item);
    });
    return groups;
  }

  grouped() {
    return this.groupedBy ? this.groupsOf(this.fitting()) : new Map([["", this.fitting()]]);
  }

  draw() {
    const groups = this.grouped();
    const fitting = Array.from(groups.values()).flat();
    const shown = fitting.slice(0, this.limit);
    const heads = new Map(Array.from(groups, ([name, items]) => [items[0], name && `${name} · ${counted(items.length)}`]));
    this.box.replaceChildren(...shown.flatMap((item) => (
      heads.get(item) ? [element("h3", heads.get(item), "group"), cardOf(item)] : [cardOf(item)]
    )));
    if (this.tools) this.tools.querySelector("output").textContent = `${counted(fitting.length)} of ${counted(this.items.length)}`;
    if (this.button) this.button.hidden = shown.length === fitting.length;
  }

  grow() {
    this.limit += DRAWN_AT_ONCE;
    this.draw();
  }

  drawAll() {
    this.limit = this.items.length;
    this.draw();
    unfold(this.box);
    drawCloseups(this.box);
  }

  showAll() {
    if (this.tools) this.tools.querySelectorAll("input, select[data-by]").forEach((field) => { field.value = ""; });
  }

  // A link to a card that was not drawn yet, or that a filter hides.
  reveal(id) {
    if (!id || document.getElementById(id)) return;
    const wanted = this.items.find((item) => (item.card
      ? item.card.id === id || Array.from(item.card.querySelectorAll("[id]")).some((part) => part.id === id)
      : item.markup.includes(`id="${id}"`)));
    if (!wanted) return;
    if (!this.fitting().includes(wanted)) this.showAll();
    this.limit = Math.max(this.limit, Array.from(this.grouped().values()).flat().indexOf(wanted) + 1);
    this.draw();
    reveal();
  }
}

// Arrows go from card to card; Enter and the space bar open one, as the browser has it.
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const here = event.target.closest(".finding > summary");
  if (!step || !here || event.altKey || event.ctrlKey || event.metaKey) return;
  const all = Array.from(event.currentTarget.querySelectorAll(".finding > summary"));
  const next = all[all.indexOf(here) + step];
  if (next) next.focus();
  event.preventDefault();
}

async function copyScript(button) {
  const text = button.parentElement.querySelector("pre").textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch (refused) {
    getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
    button.textContent = "Selected: press Ctrl-C";
  }
}

async function listFindings() {
  const box = document.getElementById("findings");
  if (!box) return;
  box.addEventListener("toggle", (event) => { if (event.target.open && event.target.matches(".finding")) drawCloseups(event.target); }, true);
  box.addEventListener("click", (event) => { if (event.target.matches(".copy")) copyScript(event.target); });
  box.addEventListener("keydown", walk);
  const list = new FindingList(shownAtFirst().concat(await unpacked()));
  if (list.tools) list.offerChoices();
  list.reveal(location.hash.slice(1));
  list.draw();
  box.querySelectorAll(".finding[open]").forEach(drawCloseups);
  window.addEventListener("hashchange", () => list.reveal(location.hash.slice(1)));
  window.addEventListener("beforeprint", () => list.drawAll());
  reveal();
}
