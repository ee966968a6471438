// Limits that the reader sets: sliders over the metrics. Designs beyond one fade, and the front is that
// of the designs within all of them.
const LIMITS = new Map();
const LIMIT_VALUES = new Map(); // of each metric, those that its slider goes through
let currentFront = FRONT;

function within(trial) {
  return [...LIMITS].every(([name, limit]) => trial.metrics[name] === undefined || (limit.upper ? trial.metrics[name] <= limit.value : trial.metrics[name] >= limit.value));
}

function frontWithin() {
  if (!LIMITS.size) return FRONT;
  const costs = DATA.trials.filter((t) => t.status === "feasible" && t.same === null && within(t)).map((t) => [t.n, DATA.objectives.map(({ metric, goal }) => (goal === "minimize" ? 1 : -1) * t.metrics[metric])]);
  const beats = (a, b) => a.every((value, i) => value <= b[i]) && a.some((value, i) => value < b[i]);
  return new Set(costs.filter(([, cost]) => !costs.some(([, other]) => beats(other, cost))).map(([number]) => number));
}

function setUpLimits() {
  const box = byId("limits");
  const names = DATA.metrics.map((metric) => metric.name).slice(0, 8);
  for (const name of names) {
    const values = [...new Set(DATA.trials.filter((t) => t.same === null && name in t.metrics).map((t) => t.metrics[name]))].sort((a, b) => a - b);
    if (values.length < 2) continue;
    const upper = GOALS.get(name) !== "maximize", last = values.length - 1, metric = METRICS.get(name);
    const output = el("output", {}, "no limit");
    const slider = el("input", { type: "range", min: 0, max: last, value: upper ? last : 0, "aria-label": `${upper ? "Largest" : "Least"} ${metric.label}`, "data-metric": name, oninput: () => {
      const at = Number(slider.value), free = at === (upper ? last : 0);
      if (free) LIMITS.delete(name); else LIMITS.set(name, { upper, value: values[at] });
      output.textContent = free ? "no limit" : quantity(values[at], metric.unit);
      slider.setAttribute("aria-valuetext", output.textContent);
      limitsChanged();
    } });
    LIMIT_VALUES.set(name, values);
    box.append(el("label", { class: "limit-slider" }, el("span", {}, `${metric.label} ${upper ? "≤" : "≥"} `, output), slider));
  }
  box.append(el("button", { type: "button", class: "plain-button", onclick: () => { for (const slider of box.querySelectorAll("input")) { slider.value = freeEnd(slider); slider.dispatchEvent(new Event("input")); } } }, "no limits"));
}

function freeEnd(slider) {
  return GOALS.get(slider.dataset.metric) === "maximize" ? slider.min : slider.max;
}

// Move a slider to the value nearest to one.
function moveTo(slider, value) {
  const distances = LIMIT_VALUES.get(slider.dataset.metric).map((each) => Math.abs(each - value));
  slider.value = distances.indexOf(Math.min(...distances));
  slider.dispatchEvent(new Event("input"));
}

function limitsChanged() {
  currentFront = frontWithin();
  const designs = DATA.trials.filter((t) => t.same === null && Object.keys(t.metrics).length);
  byId("limits-count").textContent = LIMITS.size ? `${designs.filter(within).length} of ${designs.length} designs within; ${currentFront.size} of them beaten by none` : "";
  drawScatter();
  drawSlices();
  drawParallel();
  filterTable();
  remember();
}
