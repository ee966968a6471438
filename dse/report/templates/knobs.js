// What each knob matters: slices of the designs by knob, and parallel coordinates.
function knobScale(index, from, to) {
  const tried = new Set(DATA.trials.map((trial) => trial.point[index]));
  const values = DATA.values[index].filter((value) => tried.has(value));
  const place = new Map(values.map((value, at) => [value, values.length > 1 ? from + (at / (values.length - 1)) * (to - from) : (from + to) / 2]));
  return { values, place };
}

// In the order of drawing: what nothing beats lies on top.
function frontLast(trials) {
  return [...trials].sort((a, b) => currentFront.has(a.n) - currentFront.has(b.n));
}

function drawSlices() {
  if (!DATA.metrics.length) return;
  const metric = byId("slice-metric").value, box = byId("slices");
  const shown = DATA.trials.filter((trial) => trial.same === null && metric in trial.metrics);
  const numbers = shown.map((trial) => trial.metrics[metric]);
  const [, unit] = scaleFor(Math.max(...numbers.map(Math.abs)), METRICS.get(metric).unit);
  byId("slice-unit").textContent = unit && unit !== METRICS.get(metric).label ? `in ${unit}` : "";
  box.replaceChildren(...(shown.length ? DATA.knobs.map((name, index) => slice(name, index, metric, shown, numbers)) : []));
}

function slice(name, index, metric, shown, numbers) {
  const [factor] = scaleFor(Math.max(...numbers.map(Math.abs)), METRICS.get(metric).unit);
  const ends = [...new Set([Math.min(...numbers), Math.max(...numbers)])].map((end) => [end, digits(end * factor)]);
  const width = 260, height = 170, left = 14 + 7 * Math.max(...ends.map(([, words]) => words.length)), bottom = 34;
  const { values, place } = knobScale(index, left + 12, width - 18), y = makeScale(numbers, height - bottom, 20);
  const text = (value) => shown.find((trial) => trial.point[index] === value)?.shown[index] ?? "";
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${METRICS.get(metric).label} by ${name}` });
  svg.append(el("line", { x1: left, x2: width - 6, y1: height - bottom, y2: height - bottom, class: "axis" }));
  for (const trial of frontLast(shown)) {
    const dot = el("circle", { cx: place.get(trial.point[index]), cy: y.place(trial.metrics[metric]), r: currentFront.has(trial.n) ? 4 : 2.6, class: (currentFront.has(trial.n) ? "p front" : "p plain") + (within(trial) ? "" : " out"), onclick: () => select(trial.n) });
    dot.append(el("title", {}, `${trialName(trial)}: ${trial.shown[index]}, ${metricText(trial, metric)}`));
    svg.append(dot);
  }
  for (const value of namedValues(values, text, width - left)) {
    const anchor = values.length === 1 || ![values[0], values.at(-1)].includes(value) ? "middle" : value === values[0] ? "start" : "end";
    const x = { start: left, middle: place.get(value), end: width - 6 }[anchor];
    svg.append(el("text", { x, y: height - 18, "text-anchor": anchor, class: "tick" }, text(value)));
  }
  for (const [end, words] of ends) svg.append(el("text", { x: left - 6, y: y.place(end) + 4, "text-anchor": "end", class: "tick" }, words));
  svg.append(el("text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle", class: "axis-title" }, name));
  return el("figure", { class: "slice" }, svg);
}

// All values of a knob where their names have room on its axis, else the first and the last.
function namedValues(values, text, width) {
  const letters = Math.max(...values.map((value) => text(value).length));
  return values.length * (7 * letters + 12) <= width ? values : [...new Set([values[0], values.at(-1)])];
}

// A scale from end to end, so that the least and the greatest value stand at the ends of an axis.
function endScale(numbers, from, to) {
  const low = Math.min(...numbers), high = Math.max(...numbers), f = low > 0 && high / low > 25 ? Math.log : (value) => value;
  return (value) => (high > low ? from + ((f(value) - f(low)) / (f(high) - f(low))) * (to - from) : (from + to) / 2);
}

// The place of a text at an axis: moved inwards where it would be cut at an end of the picture.
function inside(text, x, width) {
  const half = 3.9 * text.length;
  if (x - half < 0) return { x: 0, "text-anchor": "start" };
  if (x + half > width) return { x: width, "text-anchor": "end" };
  return { x, "text-anchor": "middle" };
}

function drawParallel() {
  if (!DATA.metrics.length) return;
  const shown = DATA.trials.filter((trial) => trial.same === null && DATA.objectives.every(({ metric }) => metric in trial.metrics));
  const columns = DATA.knobs.length + DATA.objectives.length, width = Math.max(900, columns * 120), height = 276;
  const x = (at) => 60 + (columns > 1 ? (at / (columns - 1)) * (width - 120) : 0), svg = byId("parallel");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const scales = [
    ...DATA.knobs.map((name, index) => { const { place } = knobScale(index, 210, 24); return (trial) => place.get(trial.point[index]); }),
    ...DATA.objectives.map(({ metric }) => { const place = endScale(shown.map((trial) => trial.metrics[metric]), 210, 24); return (trial) => place(trial.metrics[metric]); }),
  ];
  const ends = [
    ...DATA.knobs.map((name, index) => { const { values } = knobScale(index, 0, 1), text = (value) => DATA.trials.find((trial) => trial.point[index] === value).shown[index]; return [text(values[0]), text(values[values.length - 1])]; }),
    ...DATA.objectives.map(({ metric }) => { const numbers = shown.map((trial) => trial.metrics[metric]), unit = METRICS.get(metric).unit; return [quantity(Math.min(...numbers), unit), quantity(Math.max(...numbers), unit)]; }),
  ];
  const names = [...DATA.knobs, ...DATA.objectives.map(({ metric }) => METRICS.get(metric).label)];
  svg.style.setProperty("--thread", Math.min(0.5, Math.max(0.05, 60 / shown.length)));
  const lines = frontLast(shown).map((trial) => {
    const path = scales.map((scale, at) => `${at ? "L" : "M"}${x(at).toFixed(1)},${scale(trial).toFixed(1)}`).join("");
    const line = el("path", { d: path, class: `thread${currentFront.has(trial.n) ? " front" : ""}${within(trial) ? "" : " out"}`, onclick: () => select(trial.n) });
    line.append(el("title", {}, trialName(trial)));
    return line;
  });
  const axes = names.flatMap((name, at) => [
    el("line", { x1: x(at), x2: x(at), y1: 18, y2: 216, class: "axis" }),
    el("text", { ...inside(ends[at][1], x(at), width), y: 10, class: "tick" }, ends[at][1]),
    el("text", { ...inside(ends[at][0], x(at), width), y: 230, class: "tick" }, ends[at][0]),
    el("text", { ...inside(name, x(at), width), y: at % 2 ? 266 : 249, class: "axis-title" }, name),
  ]);
  svg.replaceChildren(...lines, ...axes);
}

function setUpKnobs() {
  if (!DATA.metrics.length) return;
  byId("slice-metric").append(...DATA.metrics.map((metric) => el("option", { value: metric.name }, metric.label)));
  byId("slice-metric").value = DATA.objectives[0].metric;
  byId("slice-metric").addEventListener("change", drawSlices);
  drawSlices();
  drawParallel();
}
