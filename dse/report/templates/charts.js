// The scatter of all designs, and the progress of the search.
const TRIAL_AXIS = "trial number";
const NARROW = matchMedia("(max-width: 560px)").matches;
const SIZE = { width: NARROW ? 380 : 720, height: NARROW ? 400 : 470, left: NARROW ? 54 : 74, right: 18, top: 26, bottom: 56 };

function axisValue(trial, name) {
  return name === TRIAL_AXIS ? trial.n : trial.metrics[name];
}

function axisTitle(name, values) {
  if (name === TRIAL_AXIS) return [1, "trial"];
  const metric = METRICS.get(name);
  const [factor, unit] = scaleFor(Math.max(...values.map(Math.abs)), metric.unit);
  return [factor, unit && unit !== metric.label ? `${metric.label} (${unit})` : metric.label];
}

function drawScatter() {
  const names = [byId("axis-x").value, byId("axis-y").value];
  const shown = DATA.trials.filter((t) => t.same === null && names.every((name) => axisValue(t, name) !== undefined));
  const svg = byId("scatter");
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${SIZE.width} ${SIZE.height}`);
  if (!shown.length) return svg.append(el("text", { x: 40, y: 60 }, "No design has metrics."));
  const framed = byId("near").checked ? shown.filter((trial) => currentFront.has(trial.n) || trial.n === DATA.reference) : shown;
  const values = names.map((name) => (framed.length > 1 ? framed : shown).map((trial) => axisValue(trial, name)));
  const [xFactor, xTitle] = axisTitle(names[0], values[0]);
  const [yFactor, yTitle] = axisTitle(names[1], values[1]);
  const x = makeScale(values[0].map((value) => value * xFactor), SIZE.left, SIZE.width - SIZE.right, askedLog("x"));
  const y = makeScale(values[1].map((value) => value * yFactor), SIZE.height - SIZE.bottom, SIZE.top, askedLog("y"));
  byId("log-x").checked = x.log;
  byId("log-y").checked = y.log;
  const at = (trial) => [x.place(axisValue(trial, names[0]) * xFactor), y.place(axisValue(trial, names[1]) * yFactor)];
  svg.append(...gridLines(x, y), ...axisTitles(x, y, xTitle, yTitle), ...limits(names, x, y, [xFactor, yFactor]));
  const line = frontLine(names, shown, at);
  if (line) svg.append(line);
  const inside = ([px, py]) => px > SIZE.left - 1 && px < SIZE.width - SIZE.right + 1 && py > SIZE.top - 1 && py < SIZE.height - SIZE.bottom + 1;
  const drawn = shown.filter((trial) => inside(at(trial)));
  const beyond = shown.length - drawn.length;
  if (beyond) svg.append(el("text", { x: SIZE.width - SIZE.right, y: 14, "text-anchor": "end" }, `${beyond} ${beyond === 1 ? "design lies" : "designs lie"} beyond`));
  const order = { violates: 0, plain: 1, front: 2, reference: 3 };
  const ranked = [...drawn].sort((a, b) => order[kindOf(a)] - order[kindOf(b)]);
  svg.append(...ranked.map((trial) => mark(trial, at(trial), names)));
  const chosen = TRIALS.get(selected);
  if (chosen && drawn.includes(chosen)) {
    const [cx, cy] = at(chosen);
    svg.append(el("circle", { class: "ring", cx, cy, r: 10 }));
  }
}

function askedLog(axis) {
  const box = byId(`log-${axis}`);
  return box.dataset.asked ? box.checked : null;
}

function kindOf(trial) {
  if (trial.n === DATA.reference) return "reference";
  if (currentFront.has(trial.n)) return "front";
  return trial.status === "violates" ? "violates" : "plain";
}

function mark(trial, [x, y], names) {
  const kind = kindOf(trial);
  const style = (kind === "violates" ? "p over" : `p ${kind}`) + (within(trial) ? "" : " out");
  const events = {
    class: style,
    onclick: () => select(trial.n),
    onmousemove: (event) => tip.show(event, el("b", {}, trialName(trial)), tipTable(tipRows(trial, names))),
    onmouseleave: tip.hide,
  };
  if (kind === "reference") return el("path", { ...events, d: `M${x - 8} ${y}L${x} ${y - 8}L${x + 8} ${y}L${x} ${y + 8}Z` });
  return el("circle", { ...events, cx: x, cy: y, r: kind === "front" ? 6 : 4.5 });
}

function tipRows(trial, names) {
  const wanted = [...new Set([...names.filter((name) => name !== TRIAL_AXIS), ...GOALS.keys()])];
  const metrics = wanted.map((name) => [METRICS.get(name).label, metricText(trial, name)]);
  const knobs = DATA.knobs.map((name, index) => [name, trial.shown[index]]);
  return [...metrics, ...knobs, ...(trial.reason ? [["", trial.reason]] : [])];
}

function tickText(tick, { ticks, log }) {
  if (log) return Math.abs(tick) >= 1e9 ? byPower(tick) : digits(tick);
  const largest = Math.max(...ticks.map(Math.abs));
  if (largest < 1e-4 || largest >= 1e9) return tick === 0 ? "0" : byPower(tick); // of an expression without a unit
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(tick);
  const decimals = Math.max(0, Math.min(8, -Math.floor(Math.log10(step || 1) + 1e-9) + (/[^0]5/.test(String(step)) ? 1 : 0)));
  return tick.toLocaleString("en-US", { maximumFractionDigits: decimals });
}

function gridLines(x, y) {
  const bottom = SIZE.height - SIZE.bottom, right = SIZE.width - SIZE.right;
  return [
    ...x.ticks.flatMap((tick) => [
      el("line", { class: "grid", x1: x.place(tick), x2: x.place(tick), y1: SIZE.top, y2: bottom }),
      el("text", { x: x.place(tick), y: bottom + 19, "text-anchor": "middle" }, tickText(tick, x)),
    ]),
    ...y.ticks.flatMap((tick) => [
      el("line", { class: "grid", x1: SIZE.left, x2: right, y1: y.place(tick), y2: y.place(tick) }),
      el("text", { x: SIZE.left - 9, y: y.place(tick) + 4, "text-anchor": "end" }, tickText(tick, y)),
    ]),
    el("line", { class: "axis", x1: SIZE.left, x2: right, y1: bottom, y2: bottom }),
  ];
}

function axisTitles(x, y, xTitle, yTitle) {
  const better = (name) => (GOALS.get(name) === "minimize" ? ", less is better" : GOALS.get(name) ? ", more is better" : "");
  const note = (scale) => (scale.log ? ", log scale" : "");
  const xText = xTitle + better(byId("axis-x").value) + note(x), yText = yTitle + better(byId("axis-y").value) + note(y);
  return [
    el("text", { class: "axis-title", x: SIZE.width - SIZE.right, y: SIZE.height - 12, "text-anchor": "end" }, xText),
    el("text", { class: "axis-title", x: 4, y: 14 }, yText),
  ];
}

function limits(names, x, y, factors) {
  const right = SIZE.width - SIZE.right, bottom = SIZE.height - SIZE.bottom;
  const lines = [];
  for (const limit of DATA.limits) {
    const axis = names.indexOf(limit.metric);
    for (const value of axis < 0 ? [] : [limit.max, limit.min]) {
      if (value === null || value === undefined) continue;
      const place = (axis === 0 ? x : y).place(value * factors[axis]);
      const inside = axis === 0 ? place > SIZE.left && place < right : place > SIZE.top && place < bottom;
      if (!inside) continue;
      const ends = axis === 0 ? { x1: place, x2: place, y1: SIZE.top, y2: bottom } : { x1: SIZE.left, x2: right, y1: place, y2: place };
      const words = axis === 0 ? { x: place + 6, y: SIZE.top + 12 } : { x: right - 4, y: place - 6, "text-anchor": "end" };
      lines.push(el("line", { class: "limit", ...ends }), el("text", { class: "limit-text", ...words }, "limit"));
    }
  }
  return lines;
}

// The staircase through the designs that nothing beats in the two metrics of the axes.
function frontLine(names, shown, at) {
  if (!names.every((name) => GOALS.has(name)) || names[0] === names[1]) return null;
  const sign = names.map((name) => (GOALS.get(name) === "minimize" ? 1 : -1));
  const cost = (trial, axis) => sign[axis] * trial.metrics[names[axis]];
  const ranked = shown.filter((t) => currentFront.has(t.n)).sort((a, b) => cost(a, 0) - cost(b, 0) || cost(a, 1) - cost(b, 1));
  let lowest = Infinity, path = "", last = null;
  for (const trial of ranked) {
    if (cost(trial, 1) >= lowest) continue;
    lowest = cost(trial, 1);
    const [x, y] = at(trial);
    path += last === null ? `M${x} ${y}` : `L${x} ${last}L${x} ${y}`;
    last = y;
  }
  return path ? el("path", { class: "front-line", d: path }) : null;
}

function drawProgress() {
  const svg = byId("progress"), history = DATA.hypervolume;
  const left = 44, right = NARROW ? 340 : 506, top = 12, bottom = 210;
  svg.setAttribute("viewBox", `0 0 ${right + 14} 250`);
  svg.replaceChildren();
  if (!history.length) return svg.append(el("text", { x: 20, y: 40 }, "No feasible design yet."));
  const total = history[history.length - 1].trials;
  const best = Math.max(...history.map((entry) => entry.share), 0.01);
  const x = (trials) => left + ((right - left) * trials) / total;
  const y = (share) => bottom - ((bottom - top) * share) / (best * 1.06);
  for (const tick of niceTicks(0, best, 4)) {
    svg.append(el("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      el("text", { x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, digits(100 * tick, 2) + " %"));
  }
  for (const tick of niceTicks(0, total, NARROW ? 4 : 6)) svg.append(el("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, digits(tick)));
  const points = [[x(0), y(0)], ...history.map((entry) => [x(entry.trials), y(entry.share)])];
  const stairs = points.map(([px, py], i) => (i ? `L${px} ${points[i - 1][1]}L${px} ${py}` : `M${px} ${py}`)).join("");
  svg.append(el("path", { class: "curve-area", d: `${stairs}L${x(total)} ${y(0)}Z` }), el("path", { class: "curve", d: stairs }),
    el("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    el("text", { class: "axis-title", x: right, y: bottom + 36, "text-anchor": "end" }, "trials →"));
}
