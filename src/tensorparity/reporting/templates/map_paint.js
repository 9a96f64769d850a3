// Draws one map on a canvas. What is out of sight is skipped, and what is too small to read is not written.
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const CORNER = 7;
const FULL = 0.68; // scale from which a box tells everything,
const SHORT = 0.42; // its name and the number that colours it,
const NAME = 0.27; // its name only
const CURVES = 0.1;
const SMALLEST = 9; // pixels of an accused box, however far away

class MapPainter {
  constructor(comparison, limit) {
    this.comparison = comparison;
    this.structure = facts.structures[comparison.map.structure];
    this.limit = limit;
    this.inputs = this.structure.inputs.length;
    this.layers = Array.from({ length: layersOf(comparison) }, (_, index) => layerOf(comparison, index));
    this.errors = this.layers.map((layer) => number(layer.error));
    this.rates = this.layers.map((layer) => number(layer.rate));
    this.boxes = this.structure.boxes;
    this.reaches = this.structure.edges.map(MapPainter.reach);
    this.texts = new Map();
    this.pictures = new Map();
    this.marks = { selected: -1, hovered: -1, found: null };
    this.colourBy("error");
  }

  static reach([, , runs, hops]) {
    const xs = [...runs.flatMap((run) => run.filter((_, index) => index % 2 === 0)), ...hops.map((hop) => hop[1])];
    const ys = [...runs.flatMap((run) => run.filter((_, index) => index % 2 === 1)), ...hops.flatMap((hop) => [hop[0], hop[2]])];
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }

  layerAt(vertex) {
    return vertex >= this.inputs && vertex < this.inputs + this.layers.length ? vertex - this.inputs : -1;
  }

  colourBy(mode) {
    this.mode = mode;
    const known = this.errors.filter((error) => error > 0 && Number.isFinite(error));
    const range = [Math.min(...known, 1), Math.max(...known, 2)];
    const calm = this.rates.filter((rate, index) => Number.isFinite(rate) && !this.layers[index].highlighted);
    const largest = Math.max(0, ...calm);
    this.fills = this.layers.map((layer, index) => (mode === "error" ? errorColour(this.errors[index], this.limit, range) : rateColour(this.rates[index], layer.highlighted, largest)));
    this.blamed = this.layers.map((layer, index) => excessive(this.errors[index], this.limit));
    this.accused = mode === "error" ? this.blamed : this.layers.map((layer) => layer.highlighted);
  }

  paint(ctx, view, width, height, ratio) {
    const colours = theme();
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colours.paper;
    ctx.fillRect(0, 0, width, height);
    ctx.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
    this.sight = [-view.x / view.k, -view.y / view.k, (width - view.x) / view.k, (height - view.y) / view.k];
    this.paintEdges(ctx, view.k, colours);
    const seen = this.boxes.map((_, vertex) => vertex).filter((vertex) => this.sees(this.boxes[vertex]));
    const layers = seen.filter((vertex) => this.layerAt(vertex) >= 0);
    this.paintBoxes(ctx, layers, view.k, colours);
    if (view.k >= NAME) this.paintTexts(ctx, layers, view.k, colours);
    seen.filter((vertex) => this.layerAt(vertex) < 0).forEach((vertex) => this.paintEnd(ctx, vertex, view.k, colours));
    this.paintMarks(ctx, seen, view.k, colours);
  }

  sees([x, y, width, height]) {
    const [left, top, right, bottom] = this.sight;
    return x + width / 2 > left && x - width / 2 < right && y + height / 2 > top && y - height / 2 < bottom;
  }

  paintEdges(ctx, scale, colours) {
    const [left, top, right, bottom] = this.sight;
    const margin = 8;
    const chosen = [];
    ctx.beginPath();
    this.structure.edges.forEach((edge, index) => {
      const reach = this.reaches[index];
      if (reach[2] + margin < left || reach[0] - margin > right || reach[3] < top || reach[1] > bottom) return;
      if (edge[0] === this.marks.selected || edge[1] === this.marks.selected) chosen.push(edge);
      else this.trace(ctx, edge, scale);
    });
    ctx.lineWidth = Math.max(1.4, 0.9 / scale);
    ctx.strokeStyle = colours.edge;
    ctx.globalAlpha = this.marks.found ? 0.5 : scale < CURVES ? 0.55 : 1;
    ctx.stroke();
    ctx.globalAlpha = 1;
    if (!chosen.length) return;
    ctx.beginPath();
    chosen.forEach((edge) => this.trace(ctx, edge, scale));
    ctx.lineWidth = Math.max(2.4, 1.6 / scale);
    ctx.strokeStyle = colours.near;
    ctx.stroke();
  }

  trace(ctx, [, , runs, hops], scale) {
    runs.forEach((run, index) => {
      if (index === 0) ctx.moveTo(run[0], run[1]);
      else this.hop(ctx, runs[index - 1], hops[index - 1], run);
      for (let place = 2; place < run.length; place += 2) {
        const [x, y, toX, toY] = run.slice(place - 2, place + 2);
        if (x === toX || scale < CURVES) ctx.lineTo(toX, toY);
        else ctx.bezierCurveTo(x, y + (toY - y) * 0.6, toX, toY - (toY - y) * 0.6, toX, toY);
      }
    });
    if (scale >= SHORT) this.arrow(ctx, runs[runs.length - 1]);
  }

  hop(ctx, before, [bottom, gutter, top], after) {
    const x = before[before.length - 2];
    const radius = Math.min(10, Math.abs(after[0] - gutter) / 2, Math.abs(gutter - x) / 2);
    ctx.arcTo(x, bottom, gutter, bottom, radius);
    ctx.arcTo(gutter, bottom, gutter, top, radius);
    ctx.arcTo(gutter, top, after[0], top, radius);
    ctx.arcTo(after[0], top, after[0], after[1], radius);
    ctx.lineTo(after[0], after[1]);
  }

  arrow(ctx, run) {
    const [x, y] = run.slice(-2);
    ctx.moveTo(x - 4, y - 6);
    ctx.lineTo(x, y - 1);
    ctx.lineTo(x + 4, y - 6);
  }

  paintBoxes(ctx, vertices, scale, colours) {
    const byFill = new Map();
    vertices.forEach((vertex) => {
      const fill = this.fills[this.layerAt(vertex)];
      if (!byFill.has(fill)) byFill.set(fill, []);
      byFill.get(fill).push(vertex);
    });
    const round = scale >= NAME ? CORNER : 0;
    byFill.forEach((group, fill) => {
      ctx.beginPath();
      group.forEach((vertex) => this.outline(ctx, vertex, scale, round));
      ctx.fillStyle = fill;
      ctx.globalAlpha = 1;
      ctx.fill();
      if (scale < 0.06) return;
      ctx.lineWidth = Math.max(1, 0.6 / scale);
      ctx.strokeStyle = inkOn(fill) === "#ffffff" ? fill : colours.line;
      ctx.stroke();
    });
    if (this.marks.found) this.fade(ctx, vertices.filter((vertex) => !this.marks.found.has(vertex)), scale, round, colours);
  }

  outline(ctx, vertex, scale, round) {
    const [x, y, width, height] = this.boxes[vertex];
    const large = this.accused[this.layerAt(vertex)] ? SMALLEST / scale : 1.5 / scale;
    const [w, h] = [Math.max(width, large), Math.max(height, large)];
    if (round) ctx.roundRect(x - w / 2, y - h / 2, w, h, round);
    else ctx.rect(x - w / 2, y - h / 2, w, h);
  }

  fade(ctx, vertices, scale, round, colours) {
    ctx.beginPath();
    vertices.forEach((vertex) => this.outline(ctx, vertex, scale, round));
    ctx.fillStyle = colours.paper;
    ctx.globalAlpha = 0.68;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  // Lines of a box by scale: [font, distance from the middle, text].
  lines(layer, index, scale) {
    const call = layer.call ? ` (call ${layer.call})` : "";
    const name = visible(layer.name) + call;
    if (scale < SHORT) return [[`600 22px ${FONT}`, 0, name]];
    const main = this.mode === "error" ? `e ${brief(layer.error)}` : `R ${brief(layer.rate)}`;
    if (scale < FULL) return [[`600 19px ${FONT}`, -11, name], [`17px ${FONT}`, 13, `${visible(layer.type)} · ${main}`]];
    return [[`600 13px ${FONT}`, -17, name], [`12px ${FONT}`, 0, visible(layer.type)]];
  }

  paintTexts(ctx, vertices, scale, colours) {
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    vertices.forEach((vertex) => {
      const index = this.layerAt(vertex);
      const [x, y, width] = this.boxes[vertex];
      const ink = inkOn(this.fills[index]);
      ctx.globalAlpha = this.marks.found && !this.marks.found.has(vertex) ? 0.4 : 1;
      this.lines(this.layers[index], index, scale).forEach(([font, offset, text]) => {
        ctx.font = font;
        ctx.fillStyle = ink;
        ctx.fillText(this.shortened(ctx, text, width - 14), x, y + offset + 1);
      });
      if (scale >= FULL) this.paintNumbers(ctx, index, x, y + 18, ink, colours);
    });
    ctx.globalAlpha = 1;
  }

  // δ, R and e beside each other, in red what its rule accuses.
  paintNumbers(ctx, index, x, y, ink, colours) {
    const layer = this.layers[index];
    const parts = [["δ", layer.deviation, false], ["R", layer.rate, layer.highlighted], ["e", layer.error, this.blamed[index]]];
    parts.forEach(([sign, value, accused], place) => {
      ctx.font = `${accused ? "700 " : ""}11px ${FONT}`;
      ctx.fillStyle = accused && ink !== "#ffffff" ? colours.flag : ink;
      ctx.fillText(`${sign} ${brief(value)}`, x + (place - 1) * 61, y);
    });
  }

  shortened(ctx, text, width) {
    const key = `${ctx.font}|${width}|${text}`;
    let fitting = this.texts.get(key);
    if (fitting === undefined) {
      fitting = text;
      let kept = Math.min(text.length, 80);
      while (kept > 2 && ctx.measureText(fitting).width > width) {
        kept -= Math.max(1, Math.floor(kept / 24));
        fitting = `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
      }
      this.texts.set(key, fitting);
    }
    return fitting;
  }

  paintEnd(ctx, vertex, scale, colours) {
    const [x, y, width, height] = this.boxes[vertex];
    ctx.beginPath();
    ctx.roundRect(x - width / 2, y - height / 2, width, height, 14);
    ctx.fillStyle = colours.end;
    ctx.fill();
    ctx.lineWidth = Math.max(1.5, 1 / scale);
    ctx.strokeStyle = colours.soft;
    ctx.stroke();
    if (scale < 0.16) return;
    const output = vertex - this.inputs - this.layers.length;
    if (output < 0) this.paintInput(ctx, vertex, scale, colours);
    else this.paintOutput(ctx, vertex, output, scale, colours);
  }

  write(ctx, text, x, y, font, colour, width, align) {
    ctx.textAlign = align || "center";
    ctx.textBaseline = "middle";
    ctx.font = `${font} ${FONT}`;
    ctx.fillStyle = colour;
    ctx.fillText(this.shortened(ctx, text, width), x, y);
  }

  paintInput(ctx, vertex, scale, colours) {
    const [x, y, width, height] = this.boxes[vertex];
    const name = this.structure.inputs[vertex];
    const example = this.comparison.example;
    const shown = example && (example.inputs.find((input) => input.name === name) || (this.inputs === 1 ? example.inputs[0] : null));
    const top = y - height / 2;
    const title = example ? `${visible(name)} #${example.index}` : visible(name);
    if (!shown) {
      this.write(ctx, title, x, y - 9, "600 13px", colours.ink, width - 16);
      this.write(ctx, "input", x, y + 11, "12px", colours.soft, width - 16);
      return;
    }
    const range = shown.low === null ? "" : ` · ${brief(shown.low)} to ${brief(shown.high)}`;
    if (shown.picture) this.paintPicture(ctx, shown.picture, x, top + 60, 100);
    else this.write(ctx, "input", x, top + 60, "600 22px", colours.soft, width - 16);
    if (scale < 0.3) return;
    this.write(ctx, title, x, top + 127, "600 17px", colours.ink, width - 16);
    this.write(ctx, `${shown.shape.join("×") || "scalar"} ${shown.dtype}${range}`, x, top + 150, "12px", colours.soft, width - 12);
  }

  paintPicture(ctx, picture, x, y, side) {
    if (!this.pictures.has(picture)) this.pictures.set(picture, MapPainter.unpack(picture));
    const scale = side / Math.max(picture.width, picture.height);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.pictures.get(picture), x - (picture.width * scale) / 2, y - (picture.height * scale) / 2, picture.width * scale, picture.height * scale);
  }

  static unpack({ width, height, pixels }) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    const image = new ImageData(width, height);
    const bytes = atob(pixels);
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      for (let channel = 0; channel < 3; channel += 1) image.data[4 * pixel + channel] = bytes.charCodeAt(3 * pixel + channel);
      image.data[4 * pixel + 3] = 255;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  paintOutput(ctx, vertex, output, scale, colours) {
    const [x, y, width, height] = this.boxes[vertex];
    const example = this.comparison.example;
    const own = output === this.comparison.map.output;
    const name = visible(own ? this.comparison.output : this.layers[this.structure.outputs[output]].name);
    if (!own || !example) {
      this.write(ctx, `output ${name}`, x, y, "600 13px", colours.ink, width - 16);
      return;
    }
    const top = y - height / 2;
    const label = example.label ? `label ${visible(example.label)}` : "label not known";
    this.write(ctx, label, x, top + 20, "600 15px", colours.ink, width - 20);
    [[this.comparison.a, example.a, -1], [this.comparison.b, example.b, 1]].forEach(([target, prediction, side]) => {
      this.paintPrediction(ctx, target, prediction, x + (side * width) / 4, top + 46, width / 2 - 20, scale, colours);
    });
  }

  paintPrediction(ctx, target, prediction, x, top, width, scale, colours) {
    const { label, classes } = this.comparison.example;
    this.write(ctx, visible(target), x, top, "600 12px", colours.soft, width);
    prediction.forEach(([place, value], row) => {
      const y = top + 24 + 24 * row;
      const known = number(value);
      const right = classes && String(place) === label;
      if (classes && known >= 0 && known <= 1) {
        ctx.fillStyle = right ? colours.near : colours.edge;
        ctx.globalAlpha = 0.35;
        ctx.fillRect(x - width / 2, y - 10, width * known, 20);
        ctx.globalAlpha = 1;
      }
      if (scale < 0.35) return;
      const written = classes && known >= 0 && known <= 1 ? `${(100 * known).toFixed(known >= 0.9995 ? 0 : 1)}%` : brief(value);
      this.write(ctx, classes ? `class ${place}` : `[${place}]`, x - width / 2 + 5, y, right ? "700 12px" : "12px", colours.ink, width * 0.6, "left");
      this.write(ctx, written, x + width / 2 - 5, y, right ? "700 12px" : "12px", colours.ink, width * 0.5, "right");
    });
  }

  paintMarks(ctx, seen, scale, colours) {
    const ring = (vertices, colour, thickness, distance) => {
      if (!vertices.length) return;
      ctx.beginPath();
      vertices.forEach((vertex) => {
        const [x, y, width, height] = this.boxes[vertex];
        const [w, h] = [Math.max(width, SMALLEST / scale), Math.max(height, SMALLEST / scale)];
        const d = distance / scale;
        ctx.roundRect(x - w / 2 - d, y - h / 2 - d, w + 2 * d, h + 2 * d, CORNER + d);
      });
      ctx.lineWidth = thickness / scale;
      ctx.strokeStyle = colour;
      ctx.stroke();
    };
    const blamed = seen.filter((vertex) => this.blamed[this.layerAt(vertex)]);
    ring(blamed, colours.accused, 2, 4);
    if (this.marks.found) ring(seen.filter((vertex) => this.marks.found.has(vertex)), colours.found, 2.5, 2);
    if (this.marks.hovered >= 0) ring([this.marks.hovered], colours.soft, 1.5, 1.5);
    if (this.marks.selected >= 0) ring([this.marks.selected], colours.near, 3, 3);
  }
}
