(function () {
  "use strict";
  const facts = JSON.parse(document.getElementById("document").textContent);
  const show = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? Number(value.toPrecision(6)).toString() : String(value));

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // The same layer on every pair, which shows at a glance whose side the difference is on.
  function detail(comparison, index) {
    const layer = comparison.layers[index];
    const box = element("div");
    box.append(element("p", `Layer ${layer.name}, call ${layer.call}, type ${layer.type}: number ${index + 1} of ${comparison.layers.length}.`));
    const list = element("dl");
    facts.comparisons.forEach((other) => {
      const same = other.layers.find((candidate) => candidate.name === layer.name && candidate.call === layer.call);
      if (!same || other.output !== comparison.output) return;
      list.append(element("dt", `${other.a} / ${other.b}`));
      const rate = show(same.rate) + (same.highlighted ? " (highlighted)" : "");
      list.append(element("dd", `δ ${show(same.deviation)}  ·  R_L ${rate}  ·  e ${show(same.isolated_error)}`));
    });
    box.append(list);
    const key = `${layer.name}#${layer.call}`;
    facts.findings.filter((finding) => finding.node === key || (finding.node === layer.name && layer.call === 0)).forEach((finding) => {
      const line = element("p", "Finding ");
      const link = element("a", finding.id);
      link.href = `#finding-${facts.findings.indexOf(finding)}`;
      line.append(link, ` (${finding.class}): ${finding.suspects.join(", ") || "nobody"} is suspected.`);
      box.append(line);
    });
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
    cell.append(detail(facts.comparisons[Number(row.dataset.comparison)], Number(row.dataset.layer)));
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
    const section = wanted.closest("details");
    if (section) section.open = true;
    if (wanted.matches("tr[data-layer]")) {
      wanted.hidden = false;
      if (wanted.querySelector("button").getAttribute("aria-expanded") !== "true") toggle(wanted);
    }
    wanted.scrollIntoView({ block: "center" });
  }

  document.querySelectorAll("[data-filters]").forEach((tools) => {
    tools.hidden = false;
    tools.addEventListener("input", () => filter(tools));
    filter(tools);
  });
  document.querySelectorAll("tr[data-layer]").forEach((row) => row.addEventListener("click", () => toggle(row)));
  window.addEventListener("hashchange", reveal);
  reveal();
  document.documentElement.dataset.ready = "true";
})();
