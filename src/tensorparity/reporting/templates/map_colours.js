// Two scales: the isolated error e against K, where red begins; CRADLE's rate, red above the third quartile.
const THEMES = {
  light: {
    paper: "#ffffff", edge: "#b4bcc4", near: "#2f5d9b", ink: "#1c2127", soft: "#5b6570", line: "#c9ced3", white: "#ffffff",
    found: "#d98a00", unknown: "#f6f6f4", end: "#fbfbf9", accused: "#b3263a", flag: "#c0283d",
    low: ["#e8f0f8", "#bdd5ef", "#7aa8e0"], high: ["#e0596b", "#bb2840", "#7d0f24"], calm: ["#f6f5f1", "#e2ded2"], rate: "#d1344a",
  },
  dark: {
    paper: "#1b1f24", edge: "#4d5761", near: "#8ab4f0", ink: "#e7e9ea", soft: "#9ba5af", line: "#414a53", white: "#ffffff",
    found: "#f0b440", unknown: "#22272c", end: "#20252a", accused: "#f0808d", flag: "#ff93a0",
    low: ["#212b36", "#284a70", "#3b6ea8"], high: ["#a83348", "#d4455c", "#ff7f8e"], calm: ["#262a2e", "#3f4347"], rate: "#cf4259",
  },
};
const darkness = window.matchMedia("(prefers-color-scheme: dark)");
const theme = () => (darkness.matches ? THEMES.dark : THEMES.light);

const DECADES_BELOW = 2.5;
const DECADES_ABOVE = 4;

const channels = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));

function between(stops, share) {
  // In steps, so that few colours are in use and boxes of one colour can be drawn together.
  const place = (Math.round(Math.min(1, Math.max(0, share)) * 12) / 12) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const [from, to] = [channels(stops[index]), channels(stops[index + 1])];
  const mixed = from.map((value, channel) => Math.round(value + (to[channel] - value) * (place - index)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

// "Not below" rather than "above", so that what is no number counts.
const excessive = (error, limit) => error !== null && limit !== null && !(error <= limit);

function errorColour(error, limit, range) {
  if (error === null) return theme().unknown;
  if (excessive(error, limit)) {
    return between(theme().high, Number.isFinite(error) ? Math.log10(error / limit) / DECADES_ABOVE : 1);
  }
  const [low, high] = limit === null ? range : [limit / 10 ** DECADES_BELOW, limit];
  return between(theme().low, error > 0 ? Math.log(error / low) / Math.log(high / low || 1) : 0);
}

function rateColour(rate, highlighted, largest) {
  if (highlighted) return theme().rate;
  if (rate === null) return theme().unknown;
  return between(theme().calm, rate > 0 && largest > 0 ? Math.sqrt(rate / largest) : 0);
}

function inkOn(colour) {
  const [red, green, blue] = channels(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#1c2127" : "#ffffff";
}
