// What each knob matters: slices of the designs by knob, and parallel coordinates.
function knobScale(index, from, to) {
  const values = [...new Set(DATA.trials.map((trial) => trial.point[index]))];
  if (values.every((value) => typeof value === "number")) values.sort((a, b) => a - b);
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
  box.replaceChildren(...(shown.length ? DATA.knobs.map((name, index) => slice(name, index, metric, shown, numbers)) : []));
}

function slice(name, index, metric, shown, numbers) {
  const width = 260, height = 170, left = 62, bottom = 34;
  const { values, place } = knobScale(index, left + 12, width - 18), y = makeScale(numbers, height - bottom, 20);
  const text = (value) => shown.find((trial) => trial.point[index] === value)?.shown[index] ?? "";
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${METRICS.get(metric).label} by ${name}` });
  svg.append(el("line", { x1: left, x2: width - 6, y1: height - bottom, y2: height - bottom, class: "axis" }));
  for (const trial of frontLast(shown)) {
    const dot = el("circle", { cx: place.get(trial.point[index]), cy: y.place(trial.metrics[metric]), r: currentFront.has(trial.n) ? 4 : 2.6, class: (currentFront.has(trial.n) ? "p front" : "p plain") + (within(trial) ? "" : " out"), onclick: () => select(trial.n) });
    dot.append(el("title", {}, `${trialName(trial)}: ${trial.shown[index]}, ${metricText(trial, metric)}`));
    svg.append(dot);
  }
  for (const value of values.length > 1 ? [values[0], values[values.length - 1]] : values) {
    const first = value === values[0] && values.length > 1;
    svg.append(el("text", { x: first ? left : width - 6, y: height - 18, "text-anchor": first ? "start" : "end", class: "tick" }, text(value)));
  }
  for (const end of new Set([Math.min(...numbers), Math.max(...numbers)])) {
    svg.append(el("text", { x: left - 6, y: y.place(end) + 4, "text-anchor": "end", class: "tick" }, quantity(end, METRICS.get(metric).unit)));
  }
  svg.append(el("text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle", class: "axis-title" }, name));
  return el("figure", { class: "slice" }, svg);
}

function drawParallel() {
  if (!DATA.metrics.length) return;
  const shown = DATA.trials.filter((trial) => trial.same === null && DATA.objectives.every(({ metric }) => metric in trial.metrics));
  const columns = DATA.knobs.length + DATA.objectives.length, width = Math.max(900, columns * 120), height = 276;
  const x = (at) => 60 + (columns > 1 ? (at / (columns - 1)) * (width - 120) : 0), svg = byId("parallel");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const scales = [
    ...DATA.knobs.map((name, index) => { const { place } = knobScale(index, 210, 24); return (trial) => place.get(trial.point[index]); }),
    ...DATA.objectives.map(({ metric }) => { const scale = makeScale(shown.map((trial) => trial.metrics[metric]), 210, 24); return (trial) => scale.place(trial.metrics[metric]); }),
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
    el("text", { x: x(at), y: 10, "text-anchor": "middle", class: "tick" }, ends[at][1]),
    el("text", { x: x(at), y: 230, "text-anchor": "middle", class: "tick" }, ends[at][0]),
    el("text", { x: x(at), y: at % 2 ? 266 : 249, "text-anchor": "middle", class: "axis-title" }, name),
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
