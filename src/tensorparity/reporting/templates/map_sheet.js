// What a click on a layer tells: its numbers on this pair and the others, its configuration, its neighbours.
function configured(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function ownNumbers(painter, index) {
  const layer = painter.layers[index];
  const box = element("div", undefined, "numbers");
  const entries = [["deviation δ", layer.deviation, false], ["rate R_L", layer.rate, layer.highlighted], ["isolated error e", layer.error, painter.blamed[index]]];
  entries.forEach(([title, value, accused]) => {
    const entry = element("div", undefined, accused ? "accused" : "");
    entry.append(element("span", title, "soft"), element("b", brief(value)));
    box.append(entry);
  });
  return box;
}

function numbersTable(painter, index) {
  const table = element("table");
  const head = table.createTHead().insertRow();
  ["pair", "δ", "R_L", "e"].forEach((title) => head.append(element("th", title)));
  const body = table.createTBody();
  onEveryPair(painter.comparison, index).forEach(({ pair, own, layer }) => {
    const row = body.insertRow();
    if (own) row.className = "own";
    row.append(element("td", pair), element("td", brief(layer.deviation)));
    row.append(element("td", brief(layer.rate), layer.highlighted ? "accused" : ""));
    row.append(element("td", brief(layer.error), excessive(number(layer.error), painter.limit) ? "accused" : ""));
  });
  return table;
}

function verdictOn(painter, index) {
  const layer = painter.layers[index];
  const said = [];
  if (painter.blamed[index]) said.push("alone on identical inputs it differs by more than rounding: it is to blame");
  else if (layer.error === null) said.push("its isolated error was not measured");
  else if (painter.limit !== null) said.push(`alone it stays within rounding (K = ${brief(painter.limit)})`);
  said.push(layer.highlighted ? "its rate is above the third quartile" : "its rate is not above the third quartile");
  return `${said[0][0].toUpperCase()}${said[0].slice(1)}; ${said[1]}.`;
}

function definitions(entries) {
  const list = element("dl");
  entries.forEach(([name, ...values]) => list.append(element("dt", name), ...values.map((value) => element("dd", value))));
  return list;
}

function neighbourList(painter, title, vertices, go) {
  const box = element("p", `${title} `, "neighbours");
  vertices.forEach((vertex) => {
    const button = element("button", painter.nameOf(vertex), "plain-button");
    button.type = "button";
    button.addEventListener("click", () => go(vertex));
    box.append(button, " ");
  });
  return vertices.length ? box : "";
}

function describeLayer(painter, index) {
  const layer = painter.layers[index];
  const parts = [ownNumbers(painter, index), element("p", verdictOn(painter, index)), ...findingsAt(layer).map(findingLine)];
  const parameters = Object.entries(layer.parameters);
  parts.push(element("h5", "Configuration"));
  parts.push(parameters.length ? definitions(parameters.map(([name, value]) => [name, configured(value)])) : element("p", "all at their defaults", "soft"));
  return parts;
}

function describeEnd(painter, vertex) {
  const example = painter.comparison.example;
  if (!example) return [element("p", "No example was recorded for this map.", "soft")];
  if (vertex < painter.inputs) {
    return [definitions(example.inputs.map((input) => [input.name, `${input.shape.join("×") || "scalar"} ${input.dtype}, ${brief(input.low)} to ${brief(input.high)}`]))];
  }
  if (vertex - painter.inputs - painter.layers.length !== painter.comparison.map.output) return [element("p", "This is another output of the model, which has its own comparisons.", "soft")];
  const told = (prediction) => prediction.map(([place, value]) => `${example.classes ? `class ${place}` : `[${place}]`} ${show(value)}`);
  return [definitions([["label", example.label || "not known"], [painter.comparison.a, ...told(example.a)], [painter.comparison.b, ...told(example.b)]])];
}

function fillSheet(sheet, painter, vertex, go, close) {
  const index = painter.layerAt(vertex);
  const title = element("h4", painter.nameOf(vertex));
  title.tabIndex = -1;
  const shut = element("button", "×", "shut");
  shut.type = "button";
  shut.setAttribute("aria-label", "Close the details");
  shut.addEventListener("click", close);
  const kind = index < 0 ? (vertex < painter.inputs ? "input" : "output") : painter.layers[index].type;
  const place = index < 0 ? "" : ` · number ${index + 1} of ${painter.layers.length}`;
  const parts = [shut, title, element("p", kind + place, "soft small")];
  parts.push(...(index < 0 ? describeEnd(painter, vertex) : describeLayer(painter, index)));
  parts.push(neighbourList(painter, "From", painter.before(vertex), go), neighbourList(painter, "To", painter.after(vertex), go));
  if (index >= 0) {
    parts.push(element("h5", "On every pair"), numbersTable(painter, index));
    const link = element("a", "Its row in the table");
    link.href = `#layer-${facts.comparisons.indexOf(painter.comparison)}-${index}`;
    parts.push(link);
  }
  sheet.replaceChildren(...parts);
  sheet.scrollTop = 0;
  sheet.hidden = false;
}

// The legend: the scale that is in use, with its threshold.
function fillLegend(legend, painter) {
  const colours = theme();
  const swatch = (colour, text) => {
    const box = element("i");
    box.style.background = colour;
    const item = element("span");
    item.append(box, text);
    return item;
  };
  const bar = (stops) => {
    const box = element("i", undefined, "ramp");
    box.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    return box;
  };
  const parts = [];
  if (painter.mode === "rate") {
    parts.push(swatch(colours.rate, "R_L above the third quartile"), swatch(colours.calm[0], "not above"));
  } else if (painter.limit === null) {
    parts.push("isolated error e: small ", bar(colours.low), " large");
  } else {
    parts.push("e: rounding ", bar(colours.low), ` K = ${brief(painter.limit)} `, bar(colours.high), " wrong");
  }
  if (painter.fills.includes(colours.unknown)) parts.push(swatch(colours.unknown, "not measured"));
  if (painter.blamed.some(Boolean)) {
    const ringed = swatch("transparent", "ringed: to blame");
    ringed.firstChild.style.outline = `2px solid ${colours.accused}`;
    parts.push(ringed);
  }
  legend.replaceChildren(...parts);
}
