// Data, numbers for people, small helpers for SVG and the page.
const DATA = JSON.parse(document.getElementById("data").textContent);
const TRIALS = new Map(DATA.trials.map((trial) => [trial.n, trial]));
const FRONT = new Set(DATA.front);
const METRICS = new Map(DATA.metrics.map((metric) => [metric.name, metric]));
const GOALS = new Map(DATA.objectives.map((objective) => [objective.metric, objective.goal]));
const byId = (id) => document.getElementById(id);

const ONE = { cycles: "cycle", hops: "hop", elements: "element", cores: "core", banks: "bank", words: "word" };
const PREFIXES = { "-18": "a", "-15": "f", "-12": "p", "-9": "n", "-6": "µ", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P" };

const RAISED = { "+": "", "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function byPower(value, significant = 3) {
  return Number(value.toPrecision(significant)).toExponential().replace(/e([+-]\d+)/, (_, power) => "·10" + [...power].map((sign) => RAISED[sign]).join(""));
}

function digits(value, significant = 3) {
  if (value === 0) return "0";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toLocaleString("en-US");
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  if (Math.abs(value) < 1e-3) return byPower(value, significant);
  return String(Number(value.toPrecision(significant)));
}

// The factor and the name of the unit in which numbers of this size read best.
function scaleFor(size, unit) {
  if (unit === "m²") return [1e6, "mm²"];
  if (unit === "bit") {
    const step = Math.min(3, Math.max(0, Math.floor(Math.log2(Math.max(size, 8) / 8) / 10)));
    return [1 / (8 * 1024 ** step), ["B", "KiB", "MiB", "GiB"][step]];
  }
  if (!["J", "s", "J·s", "W"].includes(unit) || size === 0 || !Number.isFinite(size)) return [1, unit];
  const exponent = Math.min(15, Math.max(-18, 3 * Math.floor(Math.log10(Math.abs(size)) / 3 + 1e-12)));
  if (size < 1e-19) return [1, unit];
  return [10 ** -exponent, PREFIXES[exponent] + unit];
}

function quantity(value, unit) {
  if (value === undefined || value === null) return "–";
  const [factor, name] = scaleFor(Math.abs(value), unit);
  const words = digits(value * factor);
  return `${words} ${words === "1" ? ONE[name] ?? name : name}`.trim();
}

function metricText(trial, name) {
  return quantity(trial.metrics[name], METRICS.get(name).unit);
}

function versus(value, reference, goal) {
  if (value === reference) return ["same", ""];
  const tone = !goal ? "" : value < reference === (goal === "minimize") ? "good" : "bad";
  const ratio = value / reference;
  if (!(ratio > 0) || reference === 0) return [value < reference ? "lower" : "higher", tone];
  if (ratio >= 2) return ["×" + digits(ratio), tone];
  if (ratio <= 0.5) return ["÷" + digits(1 / ratio), tone];
  const percent = 100 * (ratio - 1);
  return [(percent > 0 ? "+" : "−") + digits(Math.abs(percent), 2) + " %", tone];
}

function el(name, attributes = {}, ...children) {
  const space = el.svg.has(name) ? "http://www.w3.org/2000/svg" : null;
  const node = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
el.svg = new Set(["svg", "g", "line", "circle", "path", "rect", "text", "title"]);

const tip = {
  show(event, ...content) {
    const box = byId("tip");
    box.replaceChildren(...content);
    box.hidden = false;
    const x = event.clientX + 14, y = event.clientY + 14;
    box.style.left = Math.max(4, Math.min(x, innerWidth - box.offsetWidth - 8)) + "px";
    box.style.top = Math.max(4, y + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 12 : y) + "px";
  },
  hide() { byId("tip").hidden = true; },
};

function tipTable(rows) {
  return el("table", {}, ...rows.map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, value))));
}

function trialName(trial) {
  return trial.baseline ? `${trial.baseline} (trial ${trial.n})` : `trial ${trial.n}`;
}

// Round numbers between low and high: about `count` of them.
function niceTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) ticks.push(index * step + 0); // + 0: no -0
  return ticks;
}

function logTicks(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const factors = last - first > 5 ? [1] : last - first > 2 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let power = first; power <= last; power++) for (const factor of factors) ticks.push(factor * 10 ** power);
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

// A linear scale, or a logarithmic one: where it is asked for, by default where the values span more
// than a factor of 25.
function makeScale(values, from, to, asked = null) {
  let low = Math.min(...values), high = Math.max(...values);
  const log = low > 0 && (asked ?? high / low > 25);
  if (low === high) { low -= Math.abs(low) * 0.1 || 1; high += Math.abs(high) * 0.1 || 1; }
  const f = log ? Math.log : (value) => value;
  const pad = 0.06 * (f(high) - f(low));
  let start = f(low) - pad;
  const end = f(high) + pad;
  if (!log && low >= 0 && start < 0.25 * (end - start)) start = Math.min(0, start < 0 ? 0 : start);
  if (!log && low >= 0 && start < 0) start = 0;
  const place = (value) => from + ((f(value) - start) / (end - start)) * (to - from);
  const back = log ? Math.exp : (value) => value;
  let ticks = log ? logTicks(back(start), back(end)) : [];
  if (ticks.length < 3) ticks = niceTicks(back(start), back(end), Math.abs(to - from) / 75); // also of a log scale that spans little
  return { place, ticks, log };
}
