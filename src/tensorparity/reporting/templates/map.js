// One localization map: the view, the hands on it, and the search.
const CLOSEST = 2.2;
const GLIDE = 260; // milliseconds
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
let scrolled = -Infinity; // when a wheel last scrolled the page; a scroll that arrives at a map goes on scrolling
const opened = new Map();

class LocalizationMap {
  constructor(figure) {
    this.figure = figure;
    this.comparison = facts.comparisons[Number(figure.dataset.comparison)];
    this.painter = new MapPainter(this.comparison, number(facts.isolated_threshold));
    this.painter.nameOf = (vertex) => this.nameOf(vertex);
    this.painter.before = (vertex) => this.neighbours(vertex, 1, 0);
    this.painter.after = (vertex) => this.neighbours(vertex, 0, 1);
    this.stage = figure.querySelector(".stage");
    this.canvas = figure.querySelector("canvas.graph");
    this.ctx = this.canvas.getContext("2d", { alpha: false });
    this.overview = figure.querySelector("canvas.overview");
    this.sheet = figure.querySelector(".sheet");
    this.tip = figure.querySelector(".tip");
    this.search = figure.querySelector("input[type=search]");
    this.view = { k: 1, x: 0, y: 0 };
    this.hits = [];
    this.pointers = new Map();
    figure.hidden = false;
    this.listen();
    this.listBlamed();
    this.recolour("error");
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.resize();
    this.fit(false);
  }

  // --- what there is

  get count() {
    return this.painter.boxes.length;
  }

  nameOf(vertex) {
    const { structure, layers, inputs } = this.painter;
    if (vertex < inputs) return structure.inputs[vertex];
    const layer = layers[this.painter.layerAt(vertex)];
    if (!layer) return `output ${layers[structure.outputs[vertex - inputs - layers.length]].name}`;
    return layer.call ? `${layer.name} (call ${layer.call})` : layer.name;
  }

  neighbours(vertex, own, other) {
    return this.painter.structure.edges.filter((edge) => edge[own] === vertex).map((edge) => edge[other]);
  }

  // --- the view

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || (width === this.width && height === this.height && this.ratio === window.devicePixelRatio)) return;
    const fitted = this.width && Math.abs(this.view.k - this.fitting().k) < 1e-9;
    [this.width, this.height, this.ratio] = [width, height, window.devicePixelRatio || 1];
    [this.canvas.width, this.canvas.height] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    if (fitted) this.view = this.fitting();
    this.draw();
  }

  fitting() {
    const { width, height } = this.painter.structure;
    const k = Math.min(1.1, (this.width - 48) / width, (this.height - 72) / height);
    return { k, x: (this.width - k * width) / 2, y: (this.height - 24 - k * height) / 2 };
  }

  fit(glide = true) {
    this.moveTo(this.fitting(), glide);
  }

  moveTo(view, glide = true) {
    this.aim = view;
    const from = { ...this.view };
    const began = performance.now();
    if (!glide || calm.matches) {
      this.view = view;
      this.draw();
      return;
    }
    const step = () => {
      if (this.aim !== view) return; // another hand took over
      const share = Math.min(1, (performance.now() - began) / GLIDE);
      const eased = 1 - (1 - share) ** 3;
      // Scale in proportion, and the place on the screen along with it.
      const k = from.k * (view.k / from.k) ** eased;
      const mix = Math.abs(view.k - from.k) < 1e-6 ? eased : (k - from.k) / (view.k - from.k);
      this.view = { k, x: from.x + (view.x - from.x) * mix, y: from.y + (view.y - from.y) * mix };
      this.paintNow();
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  hold(view) {
    this.aim = null;
    const { width, height } = this.painter.structure;
    const edge = 60; // some of the map stays in sight
    view.x = Math.min(this.width - edge, Math.max(edge - width * view.k, view.x));
    view.y = Math.min(this.height - edge, Math.max(edge - height * view.k, view.y));
    this.view = view;
    this.draw();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const least = Math.min(this.fitting().k, CLOSEST);
    const k = Math.min(CLOSEST, Math.max(least, this.view.k * factor));
    const real = k / this.view.k;
    if (k === least && factor < 1) return this.fit(this.view.k > least * 1.01);
    return this.hold({ k, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real });
  }

  locate(vertex) {
    const [x, y] = this.painter.boxes[vertex];
    return [x * this.view.k + this.view.x, y * this.view.k + this.view.y];
  }

  // Bring a vertex to the middle of what the details leave free, near enough to be read.
  centre(vertex) {
    const [x, y] = this.painter.boxes[vertex];
    const k = Math.max(this.view.k, 0.85);
    const free = this.width - (this.sheet.hidden || this.width < 640 ? 0 : this.sheet.offsetWidth);
    this.moveTo({ k, x: free / 2 - x * k, y: this.height / 2 - y * k });
  }

  // --- drawing

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paintNow());
  }

  paintNow() {
    this.waiting = false;
    if (!this.width) return;
    this.painter.paint(this.ctx, this.view, this.width, this.height, this.ratio);
    this.paintOverview();
  }

  paintOverview() {
    const { width, height } = this.painter.structure;
    const needed = this.view.k > 1.5 * this.fitting().k;
    this.overview.hidden = !needed;
    if (!needed) return;
    const k = Math.min(190 / width, 120 / height);
    const size = [Math.max(24, Math.round(width * k)), Math.max(24, Math.round(height * k))];
    if (!this.small) this.small = this.smallPicture(size, k);
    [this.overview.width, this.overview.height] = size.map((value) => value * this.ratio);
    [this.overview.style.width, this.overview.style.height] = size.map((value) => `${value}px`);
    const ctx = this.overview.getContext("2d");
    ctx.drawImage(this.small, 0, 0);
    ctx.scale(this.ratio, this.ratio);
    ctx.strokeStyle = theme().near;
    ctx.lineWidth = 1.5;
    const [w, h] = [(this.width / this.view.k) * k, (this.height / this.view.k) * k];
    ctx.strokeRect((-this.view.x / this.view.k) * k, (-this.view.y / this.view.k) * k, w, h);
    this.overviewScale = k;
  }

  smallPicture(size, k) {
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = size.map((value) => value * this.ratio);
    const ctx = picture.getContext("2d");
    const marks = this.painter.marks;
    this.painter.marks = { selected: -1, hovered: -1, found: null };
    this.painter.paint(ctx, { k, x: 0, y: 0 }, size[0], size[1], this.ratio);
    this.painter.marks = marks;
    return picture;
  }

  recolour(mode) {
    this.painter.colourBy(mode);
    this.figure.dataset.colour = mode;
    this.small = null;
    fillLegend(this.figure.querySelector(".legend"), this.painter);
    this.draw();
  }

  // --- selecting

  at(x, y) {
    const { view, painter } = this;
    const slack = view.k < 0.15 ? 4 / view.k : 0;
    const [worldX, worldY] = [(x - view.x) / view.k, (y - view.y) / view.k];
    const hit = ([cx, cy, w, h]) => Math.abs(worldX - cx) <= w / 2 + slack && Math.abs(worldY - cy) <= h / 2 + slack;
    const found = painter.boxes.map((_, vertex) => vertex).filter((vertex) => hit(painter.boxes[vertex]));
    const distance = (vertex) => Math.hypot(worldX - painter.boxes[vertex][0], worldY - painter.boxes[vertex][1]);
    return found.length ? found.reduce((best, vertex) => (distance(vertex) < distance(best) ? vertex : best)) : -1;
  }

  select(vertex, { centre = true } = {}) {
    this.painter.marks.selected = vertex;
    this.figure.dataset.selected = vertex < 0 ? "" : this.nameOf(vertex);
    if (vertex < 0) {
      this.sheet.hidden = true;
    } else {
      fillSheet(this.sheet, this.painter, vertex, (other) => this.select(other), () => this.close());
      this.tell(this.summary(vertex));
      if (centre) this.centre(vertex);
    }
    this.draw();
  }

  close() {
    this.select(-1);
    this.canvas.focus({ preventScroll: true });
  }

  summary(vertex) {
    const index = this.painter.layerAt(vertex);
    if (index < 0) return this.nameOf(vertex);
    const layer = this.painter.layers[index];
    const accused = [this.painter.blamed[index] && "to blame", layer.highlighted && "above the third quartile"].filter(Boolean);
    return [this.nameOf(vertex), layer.type, `e ${brief(layer.error)}`, `rate ${brief(layer.rate)}`, `deviation ${brief(layer.deviation)}`, ...accused].join(", ");
  }

  tell(text) {
    this.figure.querySelector("[aria-live]").textContent = visible(text);
  }

  // Layers that are wrong alone, worst first, as buttons.
  listBlamed() {
    const { painter } = this;
    const blamed = painter.layers.map((_, index) => index).filter((index) => painter.blamed[index]);
    const worth = (index) => (Number.isFinite(painter.errors[index]) ? painter.errors[index] : Infinity);
    blamed.sort((one, other) => worth(other) - worth(one) || one - other);
    const box = this.figure.querySelector(".blamed");
    box.hidden = !blamed.length;
    box.append(...blamed.slice(0, 6).map((index) => {
      const button = element("button", `${this.nameOf(index + painter.inputs)} · e ${brief(painter.errors[index])}`, "chip");
      button.type = "button";
      button.addEventListener("click", () => this.select(index + painter.inputs));
      return button;
    }));
    if (blamed.length > 6) box.append(element("span", `and ${blamed.length - 6} more`, "soft small"));
  }

  // --- searching

  find() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = this.painter.layers.map((layer) => `${layer.name} ${layer.type}`.toLowerCase());
    const fits = (text) => words.every((word) => text.includes(word));
    this.hits = words.length ? texts.flatMap((text, index) => (fits(text) ? [index + this.painter.inputs] : [])) : [];
    this.painter.marks.found = words.length ? new Set(this.hits) : null;
    this.hit = -1;
    if (this.hits.length) this.nextHit(1, false);
    else this.figure.querySelector(".found").textContent = words.length ? "nothing found" : "";
    this.draw();
  }

  nextHit(step, open = true) {
    if (!this.hits.length) return;
    this.hit = (this.hit + step + this.hits.length) % this.hits.length;
    const vertex = this.hits[this.hit];
    this.figure.querySelector(".found").textContent = `${this.hit + 1} of ${this.hits.length}`;
    if (open) this.select(vertex);
    else {
      this.painter.marks.selected = vertex;
      this.figure.dataset.selected = this.nameOf(vertex);
      this.sheet.hidden = true;
      this.centre(vertex);
      this.tell(`${this.hits.length} found; ${this.summary(vertex)}`);
    }
  }

  // --- hands

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    ["pointerup", "pointercancel"].forEach((name) => canvas.addEventListener(name, (event) => this.up(event)));
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("dblclick", (event) => this.zoom(1.8, event.offsetX, event.offsetY));
    this.stage.addEventListener("keydown", (event) => this.key(event));
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextHit(event.shiftKey ? -1 : this.sheet.hidden ? 0 : 1);
      if (event.key === "Escape") { this.search.value = ""; this.find(); }
    });
    this.figure.querySelectorAll("input[type=radio]").forEach((choice) => choice.addEventListener("change", () => this.recolour(choice.value)));
    this.figure.querySelectorAll("button[data-do]").forEach((button) => button.addEventListener("click", () => this.perform(button.dataset.do)));
    ["pointerdown", "pointermove"].forEach((name) => this.overview.addEventListener(name, (event) => { if (event.buttons) this.jump(event); }));
    darkness.addEventListener("change", () => this.recolour(this.painter.mode));
  }

  perform(deed) {
    if (deed === "in") this.zoom(1.5);
    if (deed === "out") this.zoom(1 / 1.5);
    if (deed === "fit") this.fit();
    if (deed === "enlarge") this.enlarge(!this.figure.classList.contains("large"));
  }

  enlarge(large) {
    this.figure.classList.toggle("large", large);
    document.documentElement.classList.toggle("map-open", large);
    const button = this.figure.querySelector("[data-do=enlarge]");
    button.setAttribute("aria-pressed", String(large));
    button.textContent = large ? "Shrink" : "Enlarge";
    this.resize();
    this.fit(false);
  }

  wheel(event) {
    const outward = event.deltaY > 0;
    const atRest = outward && this.view.k <= this.fitting().k * 1.001;
    const passing = event.timeStamp - scrolled < 250 && !event.ctrlKey;
    if ((passing || atRest) && !this.figure.classList.contains("large")) {
      scrolled = event.timeStamp;
      return;
    }
    event.preventDefault();
    const step = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    this.zoom(Math.exp(-Math.max(-240, Math.min(240, step)) * (event.ctrlKey ? 0.01 : 0.002)), event.offsetX, event.offsetY);
  }

  down(event) {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (this.pointers.size === 1) this.travelled = 0;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.hover(this.at(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
      return;
    }
    const old = [...this.pointers.values()];
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    const now = [...this.pointers.values()];
    this.travelled += Math.hypot(event.offsetX - before[0], event.offsetY - before[1]);
    if (this.travelled < 4) return;
    this.hover(-1);
    if (now.length === 1) this.hold({ ...this.view, x: this.view.x + now[0][0] - old[0][0], y: this.view.y + now[0][1] - old[0][1] });
    else this.pinch(old, now);
  }

  pinch([oldA, oldB], [nowA, nowB]) {
    const span = ([ax, ay], [bx, by]) => Math.max(1, Math.hypot(ax - bx, ay - by));
    const middle = ([ax, ay], [bx, by]) => [(ax + bx) / 2, (ay + by) / 2];
    const [from, to] = [middle(oldA, oldB), middle(nowA, nowB)];
    this.view = { ...this.view, x: this.view.x + to[0] - from[0], y: this.view.y + to[1] - from[1] };
    this.zoom(span(nowA, nowB) / span(oldA, oldB), to[0], to[1]);
  }

  up(event) {
    const clicked = this.pointers.size === 1 && this.travelled < 4 && event.type === "pointerup" && event.button === 0;
    this.pointers.delete(event.pointerId);
    if (!clicked) return;
    const vertex = this.at(event.offsetX, event.offsetY);
    if (vertex >= 0) this.select(vertex, { centre: this.view.k < NAME || event.offsetX > this.width - 360 });
    else this.select(-1);
  }

  hover(vertex, x = 0, y = 0) {
    this.canvas.style.cursor = vertex >= 0 ? "pointer" : "";
    this.tip.hidden = vertex < 0 || this.view.k >= FULL;
    if (!this.tip.hidden) {
      this.tip.textContent = visible(this.summary(vertex));
      this.tip.style.transform = `translate(${Math.min(x + 14, this.width - this.tip.offsetWidth - 8)}px, ${Math.min(y + 16, this.height - this.tip.offsetHeight - 8)}px)`;
    }
    if (vertex === this.painter.marks.hovered) return;
    this.painter.marks.hovered = vertex;
    this.draw();
  }

  jump(event) {
    const [x, y] = [event.offsetX / this.overviewScale, event.offsetY / this.overviewScale];
    this.hold({ k: this.view.k, x: this.width / 2 - x * this.view.k, y: this.height / 2 - y * this.view.k });
  }

  key(event) {
    if (event.key === "Escape") {
      if (!this.sheet.hidden) this.close();
      else if (this.figure.classList.contains("large")) this.enlarge(false);
      else return;
    } else if (event.target !== this.canvas || event.altKey || event.ctrlKey || event.metaKey || !this.steer(event.key, event.shiftKey)) {
      return;
    }
    event.preventDefault();
  }

  // True if the key meant something here.
  steer(key, shift) {
    const pans = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    if (shift && pans[key]) {
      this.hold({ ...this.view, x: this.view.x + pans[key][0], y: this.view.y + pans[key][1] });
      return true;
    }
    const deeds = {
      "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), 0: () => this.fit(), "/": () => this.search.focus(),
      Enter: () => { if (!this.sheet.hidden) this.sheet.querySelector("h4").focus(); },
      Home: () => this.select(0), End: () => this.select(this.count - 1),
      ArrowDown: () => this.walk(this.painter.after), ArrowUp: () => this.walk(this.painter.before),
      ArrowLeft: () => this.sideways(-1), ArrowRight: () => this.sideways(1),
    };
    if (!deeds[key]) return false;
    deeds[key]();
    return true;
  }

  walk(step) {
    const { selected } = this.painter.marks;
    const first = Math.max(0, this.painter.blamed.indexOf(true) + this.painter.inputs);
    const [next] = selected < 0 ? [this.painter.blamed.includes(true) ? first : 0] : step(selected);
    if (next !== undefined) this.select(next);
  }

  sideways(step) {
    const { marks, boxes } = this.painter;
    if (marks.selected < 0) return;
    const [x, y] = boxes[marks.selected];
    const beside = boxes.map((_, vertex) => vertex).filter((vertex) => Math.abs(boxes[vertex][1] - y) < 40 && (boxes[vertex][0] - x) * step > 0);
    if (beside.length) this.select(beside.reduce((best, vertex) => ((boxes[vertex][0] - boxes[best][0]) * step < 0 ? vertex : best)));
  }
}

window.addEventListener("wheel", (event) => { if (!event.defaultPrevented) scrolled = event.timeStamp; }, { passive: true });

// A map is made when its comparison is first opened.
function mapOf(figure) {
  if (!opened.has(figure)) {
    opened.set(figure, new LocalizationMap(figure));
    figure.map = opened.get(figure); // for a console, and for tests
  }
  return opened.get(figure);
}

function showInMap(comparison, layer) {
  const figure = document.getElementById(`map-${comparison}`);
  const map = mapOf(figure);
  figure.scrollIntoView({ block: "center" });
  map.select(layer + map.painter.inputs);
  map.canvas.focus({ preventScroll: true });
}
