const facts = JSON.parse(document.getElementById("document").textContent);
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

// Names of strangers: nothing in them turns the text around or hides.
const visible = (text) => String(text).replace(UNSEEN, (char) => `\\u${char.codePointAt(0).toString(16).padStart(4, "0")}`);

// Numbers that JSON cannot hold come as words.
const number = (value) => (value === null || value === undefined ? null : Number(value));

const show = (value) => {
  const known = number(value);
  if (known === null) return "–";
  return Number.isFinite(known) ? Number(known.toPrecision(6)).toString() : String(known);
};

// Three significant digits, as everywhere in the report.
const brief = (value) => {
  const known = number(value);
  if (known === null) return "–";
  if (!Number.isFinite(known)) return String(known);
  const size = Math.abs(known);
  if (size === 0 || (size >= 1e-3 && size < 1000)) return String(Number(known.toPrecision(3)));
  return size >= 1000 && size < 1e4 ? known.toFixed(0) : known.toExponential(1).replace("e+", "e");
};

// As the rest of the report counts: 5,000.
const counted = (amount) => amount.toLocaleString("en-US");

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = visible(text);
  if (className) made.className = className;
  return made;
}

// One layer of one comparison, from the structure that the pairs share and the pair's own numbers.
function layerOf(comparison, index) {
  const map = comparison.map;
  const [name, call, type, parameters] = facts.structures[map.structure].layers[index];
  return {
    name, call, type, parameters, key: `${name}#${call}`,
    deviation: map.deviation[index], rate: map.rate[index], error: map.error[index],
    highlighted: map.highlighted.includes(index),
  };
}

const layersOf = (comparison) => (comparison.map ? facts.structures[comparison.map.structure].layers.length : 0);

// The same layer on every pair, which shows at a glance whose side the difference is on.
function onEveryPair(comparison, index) {
  const key = layerOf(comparison, index).key;
  return facts.comparisons.flatMap((other) => {
    if (other.output !== comparison.output || !other.map) return [];
    const layers = facts.structures[other.map.structure].layers;
    const same = other.map.structure === comparison.map.structure ? index : layers.findIndex(([name, call]) => `${name}#${call}` === key);
    return same < 0 ? [] : [{ pair: `${other.a} / ${other.b}`, own: other === comparison, layer: layerOf(other, same) }];
  });
}

const findingsAt = (layer) => facts.findings.filter((finding) => finding.node === layer.key || (finding.node === layer.name && layer.call === 0));

function findingLine(finding) {
  const line = element("p", "Finding ");
  const link = element("a", finding.id);
  link.href = `#finding-${facts.findings.indexOf(finding)}`;
  line.append(link, visible(` (${finding.class}): ${finding.suspects.join(", ") || "nobody"} is suspected.`));
  return line;
}
