// Pictures around the worst number of a finding: what the target gives, what is right, and how far they are apart.
const PICTURE = 144;
const LARGEST_CELL = 24;
const CURVE = { width: 300, height: 110, margin: 6 };

const finiteOf = (rows) => rows.flat().map(Number).filter(Number.isFinite);

function rangeOf(...arrays) {
  const values = arrays.flatMap(finiteOf);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => (high > low ? (value - low) / (high - low) : 0.5);
}

function pen(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

// What is no finite number stands out of the scale, and is crossed out.
function drawCell(context, value, colour, x, y, size) {
  context.fillStyle = Number.isFinite(value) ? colour(value) : theme().found;
  context.fillRect(x, y, size - 1, size - 1);
  if (Number.isFinite(value)) return;
  context.strokeStyle = theme().paper;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + size - 1, y + size - 1);
  context.stroke();
}

function drawGrid(canvas, rows, worst, colour) {
  const size = Math.min(LARGEST_CELL, Math.floor(PICTURE / Math.max(rows.length, rows[0].length)));
  const context = pen(canvas, size * rows[0].length, size * rows.length);
  rows.forEach((row, y) => row.forEach((value, x) => drawCell(context, Number(value), colour, x * size, y * size, size)));
  context.strokeStyle = theme().ink;
  context.lineWidth = 2;
  context.strokeRect(worst[1] * size + 1, worst[0] * size + 1, size - 3, size - 3);
}

function drawLine(context, values, at, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  let pending = true;
  values.forEach((value, index) => {
    const known = Number.isFinite(value);
    if (known) context[pending ? "moveTo" : "lineTo"](...at(index, value));
    pending = !known;
  });
  context.stroke();
}

function drawCurves(canvas, lines, worst) {
  const { width, height, margin } = CURVE;
  const context = pen(canvas, width, height);
  const share = rangeOf(...lines.map((line) => [line.values]));
  const step = (width - 2 * margin) / Math.max(1, lines[0].values.length - 1);
  const at = (index, value) => [margin + index * step, height - margin - share(value) * (height - 2 * margin)];
  context.strokeStyle = theme().line;
  context.lineWidth = 1;
  context.strokeRect(margin + worst[1] * step, 0, 0.01, height);
  lines.forEach((line) => drawLine(context, line.values, at, line.colour, line.width));
  lines.forEach((line) => line.values.forEach((value, index) => {
    context.fillStyle = Number.isFinite(value) ? line.colour : theme().found;
    const [x, y] = Number.isFinite(value) ? at(index, value) : [margin + index * step, margin];
    const size = Number.isFinite(value) ? line.dot : 5;
    context.fillRect(x - size / 2, y - size / 2, size, size);
  }));
}

function drawCloseup(figure) {
  const { given, right, apart, worst, curve } = JSON.parse(figure.dataset.closeup);
  const canvases = figure.querySelectorAll("canvas");
  const colours = theme();
  figure.querySelector(".panels").hidden = false;
  if (curve) {
    const line = (rows, colour, width, dot) => ({ values: rows[0].map(Number), colour, width, dot });
    drawCurves(canvases[0], [line(right, colours.low[2], 5, 0), line(given, colours.accused, 1.5, 3)], worst);
    drawCurves(canvases[1], [line(apart, colours.accused, 1.5, 3)], worst);
    return;
  }
  const share = rangeOf(given, right);
  const most = Math.max(0, ...finiteOf(apart));
  const reds = [colours.calm[0], colours.high[0], colours.high[2]];
  drawGrid(canvases[0], given, worst, (value) => between(colours.low, share(value)));
  drawGrid(canvases[1], right, worst, (value) => between(colours.low, share(value)));
  drawGrid(canvases[2], apart, worst, (value) => between(reds, most ? value / most : 0));
}

const drawCloseups = (part) => part.querySelectorAll("figure.closeup").forEach(drawCloseup);

darkness.addEventListener("change", () => document.querySelectorAll("details[open] > figure.closeup").forEach(drawCloseup));
