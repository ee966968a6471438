// One design: its values against the reference, and per Einsum what the model or the machine saw.
// Okabe and Ito: told apart with any kind of colour vision.
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#777777"];
let section = 0;

function drawSummary(trial) {
  const reference = TRIALS.get(DATA.reference);
  const compare = reference && reference.n !== trial.n;
  const row = (metric) => {
    const goal = GOALS.get(metric.name);
    const [words, tone] = compare ? versus(trial.metrics[metric.name], reference.metrics[metric.name], goal) : ["", ""];
    return el("tr", {}, el("td", {}, metric.label), el("td", { class: "num" }, metricText(trial, metric.name)), el("td", { class: `vs ${tone}` }, words));
  };
  const known = DATA.metrics.filter((metric) => trial.metrics[metric.name] !== undefined);
  const ofOneWorkload = (metric) => !GOALS.has(metric.name) && /^(?!usage\.|bound\.)\w+\.[\w.]+$/.test(metric.name);
  const rows = known.filter((metric) => !ofOneWorkload(metric)).map(row), more = known.filter(ofOneWorkload).map(row);
  const knobs = DATA.knobs.map((name, index) => {
    const changed = compare && reference.shown[index] !== trial.shown[index];
    return el("tr", {}, el("td", {}, name), el("td", { class: "num" }, trial.shown[index]), el("td", { class: "was" }, changed ? `instead of ${reference.shown[index]}` : ""));
  });
  byId("summary").replaceChildren(...[
    el("h3", {}, `${title(trial)}`),
    el("table", { class: "kv" }, el("tbody", {}, ...rows)),
    more.length ? el("details", { class: "limits" }, el("summary", {}, "Of each workload"), el("table", { class: "kv" }, el("tbody", {}, ...more))) : el("p", {}),
    compare && rows.length ? el("p", { class: "muted", style: "font-size:12.5px;margin:6px 0 12px" }, "right: against the reference design") : el("p", {}),
    el("table", { class: "kv" }, el("tbody", {}, ...knobs)),
    trial.reason ? el("p", { class: "bad" }, trial.reason) : null,
    DATA.front.length > 1 ? stepButtons(trial) : null,
  ].filter(Boolean));
}

function title(trial) {
  const role = trial.n === DATA.reference ? "the reference" : FRONT.has(trial.n) ? "not beaten by any design" : { feasible: "beaten by others", violates: "over a limit", excluded: "excluded by its lower bounds" }[trial.status] || "cannot be built";
  const name = trialName(trial);
  return `${name[0].toUpperCase()}${name.slice(1)}: ${role}`;
}

function stepButtons(trial) {
  const position = DATA.front.indexOf(trial.n);
  const go = (offset) => select(DATA.front[(Math.max(position, 0) + offset + DATA.front.length) % DATA.front.length]);
  return el("div", { class: "step" },
    el("button", { type: "button", onclick: () => go(-1) }, "← previous on the front"),
    el("button", { type: "button", onclick: () => go(position < 0 ? 0 : 1) }, "next →"));
}

function drawDesign(trial) {
  byId("design-title").textContent = `${title(trial)}`;
  const body = byId("design-body"), details = DATA.details[trial.n];
  const sections = (details && details.sections) || [];
  if (!sections.length) {
    const absent = FRONT.has(trial.n) ? "Left out to keep this page small; the run directory has it under details/." : "The report holds the inside of the designs on the front and of the baselines only; choose one of these.";
    const words = ["infeasible", "error"].includes(trial.status) ? trial.reason : absent;
    return body.replaceChildren(el("p", { class: "panel muted", style: "margin:0" }, words));
  }
  section = Math.min(section, sections.length - 1);
  const tabs = sections.length < 2 ? null : el("div", { class: "tabs", role: "tablist" }, ...sections.map((one, index) =>
    el("button", { type: "button", role: "tab", "aria-selected": index === section, onclick: () => { section = index; drawDesign(trial); } }, one.einsum)));
  body.replaceChildren(...[waterfalls(trial), ownFront(trial), tabs, drawSection(sections[section]), machineOf(details, sections[section].workload)].filter(Boolean));
}

// Of several workloads each has its own: that of the section that is shown.
function machineOf(details, workload) {
  const several = details.machines && details.machines[workload];
  return several ? machinePanel(several, ` for ${workload}`) : machinePanel(details, "");
}

// The components from the outside in: how full, how busy, which share of the energy; and the roofline.
function machinePanel({ machine, roofline }, workload) {
  if (!machine) return null;
  const meter = (share, text, limits) => el("td", {}, share === null ? "" : el("span", { class: "track" }, el("i", { class: limits ? "limiting" : "", style: `width:${Math.min(100, 100 * share)}%` })), text || (share ? `${digits(100 * share, 3)} %` : ""));
  const rows = machine.map((row) => el("tr", {}, el("th", { scope: "row", style: `padding-left:${6 + 18 * row.depth}px` }, row.name), el("td", {}, row.count), el("td", { class: "num" }, row.size),
    meter(row.full, row.in_use && `${row.in_use}${row.full ? ` (${digits(100 * row.full, 2)} %)` : ""}`), meter(row.busy, "", row.limits), meter(row.energy)));
  const head = el("thead", {}, el("tr", {}, ...["component", "", "size", "in use", "busy, of the latency", "energy"].map((name) => el("th", { scope: "col" }, name))));
  const panels = [panel(`The machine under this design's mapping${workload}`, el("div", { class: "machine-box" }, el("table", { class: "machine" }, head, el("tbody", {}, ...rows))))];
  if (roofline) panels.push(panel(`Roofline${workload}`, picture(roofline, "Roofline: operations per second over operations per byte, a line for each memory", "roofline")));
  return el("div", { class: "column", style: "margin-top:16px" }, ...panels);
}

// From the reference to this design, component by component.
function waterfalls(trial) {
  const reference = TRIALS.get(DATA.reference);
  if (!reference || reference.n === trial.n || !trial.breakdown || !reference.breakdown) return null;
  const names = Object.keys(trial.breakdown).filter((name) => reference.breakdown[name] && METRICS.has(name));
  const figures = names.map((name) => (name === "latency" ? pairs : waterfall)(name, reference.breakdown[name], trial.breakdown[name]));
  return figures.length ? el("div", { class: "waterfalls" }, ...figures) : null;
}

// The mappings on the design's own front, in the two of its metrics that differ most.
function ownFront(trial) {
  const rows = DATA.own_fronts[trial.n];
  if (!rows) return null;
  const spread = (name) => new Set(rows.map((row) => row[name])).size;
  const names = Object.keys(rows[0]).filter((name) => METRICS.has(name)), most = [...names].sort((a, b) => spread(b) - spread(a)).slice(0, 2);
  const axes = names.filter((name) => most.includes(name));
  if (axes.length < 2) return null;
  const width = 1060, height = 290, left = 74, right = 1046, top = 26, bottom = 240;
  const [[xFactor, xTitle], [yFactor, yTitle]] = axes.map((name) => axisTitle(name, rows.map((row) => row[name])));
  const x = makeScale(rows.map((row) => row[axes[0]] * xFactor), left, right), y = makeScale(rows.map((row) => row[axes[1]] * yFactor), bottom, top);
  const place = (row) => ({ cx: x.place(row[axes[0]] * xFactor), cy: y.place(row[axes[1]] * yFactor) });
  const words = (row) => names.map((name) => `${METRICS.get(name).label} ${metricText({ metrics: row }, name)}`).join(", ");
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${rows.length} mappings of this design: ${yTitle} over ${xTitle}` });
  for (const tick of x.ticks) svg.append(el("line", { class: "grid", x1: x.place(tick), x2: x.place(tick), y1: top, y2: bottom }), el("text", { x: x.place(tick), y: bottom + 18, "text-anchor": "middle" }, digits(tick)));
  for (const tick of y.ticks) svg.append(el("line", { class: "grid", x1: left, x2: right, y1: y.place(tick), y2: y.place(tick) }), el("text", { x: left - 9, y: y.place(tick) + 4, "text-anchor": "end" }, digits(tick)));
  svg.append(el("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }), el("text", { class: "axis-title", x: right, y: bottom + 40, "text-anchor": "end" }, xTitle), el("text", { class: "axis-title", x: 4, y: 14 }, yTitle));
  for (const row of rows) {
    const dot = el("circle", { class: "p own", r: 4.5, ...place(row) });
    dot.append(el("title", {}, words(row)));
    svg.append(dot);
  }
  if (axes.every((name) => trial.metrics[name] !== undefined)) svg.append(el("circle", { class: "ring", r: 9, ...place(trial.metrics) }));
  const note = el("p", { class: "muted", style: "font-size:13px;margin:8px 0 0" }, "Mappings of this one design of which none beats another; ringed: the one that its figures above are of.");
  return el("figure", { class: "panel chart own-front", style: "margin-bottom:16px" }, el("h3", {}, `Its own front: ${rows.length} mappings`), svg, note);
}

function ranked(before, after) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((name) => [name, before[name] ?? 0, after[name] ?? 0])
    .filter(([, from, to]) => from || to)
    .sort(([, a, b], [, c, d]) => Math.abs(d - c) - Math.abs(b - a));
}

function waterfall(metric, before, after) {
  const parts = ranked(before, after), unit = METRICS.get(metric).unit, size = parts.reduce((sum, part) => sum + part[1], 0);
  const seen = parts.filter(([, from, to]) => Math.abs(to - from) > 1e-3 * size).slice(0, 8), few = [...seen], rest = parts.filter((part) => !seen.includes(part) && part[1] !== part[2]);
  if (rest.length) few.push([rest.length === 1 ? rest[0][0] : `${rest.length} others`, rest.reduce((sum, part) => sum + part[1], 0), rest.reduce((sum, part) => sum + part[2], 0)]);
  const total = (at) => parts.reduce((sum, part) => sum + part[at], 0);
  let level = total(1);
  const steps = [["the reference", 0, level, "total"]];
  for (const [name, from, to] of few) {
    steps.push([name, level, level + to - from, to < from ? "down" : "up"]);
    level += to - from;
  }
  steps.push(["this design", 0, total(2), "total"]);
  return stepChart(`${METRICS.get(metric).label}, from the reference to this design`, steps, unit);
}

// Times of components pass side by side: they do not add up, so each is set beside its former one.
function pairs(metric, before, after) {
  const unit = METRICS.get(metric).unit;
  const steps = ranked(before, after).slice(0, 6).flatMap(([name, from, to]) => [[name, 0, to, "total"], ["the reference", 0, from, "before"]]);
  return stepChart(`${METRICS.get(metric).label} by component, side by side`, steps, unit);
}

function stepChart(heading, steps, unit) {
  const longest = Math.max(...steps.map(([name]) => name.length)), fits = 20;
  const row = 21, left = 16 + 7 * Math.min(longest, fits), right = 98, width = 386, high = Math.max(...steps.flatMap(([, from, to]) => [from, to])) || 1;
  const x = (value) => left + ((width - left - right) * value) / high;
  const svg = el("svg", { viewBox: `0 0 ${width} ${steps.length * row + 4}`, role: "img", "aria-label": `${heading}: ${steps.map(([name, from, to, kind]) => `${name} ${change(from, to, kind, unit)}`).join(", ")}` });
  steps.forEach(([name, from, to, kind], index) => {
    const y = index * row + 3, low = Math.min(from, to);
    svg.append(
      el("text", { x: left - 8, y: y + 12, "text-anchor": "end" }, name.length > fits ? `${name.slice(0, fits - 1)}…` : name),
      el("rect", { class: `step-${kind}`, x: x(low), y, width: Math.max(1, x(Math.max(from, to)) - x(low)), height: 15, rx: 2 }),
      el("text", { x: width - right + 6, y: y + 12 }, change(from, to, kind, unit)));
  });
  return panel(heading[0].toUpperCase() + heading.slice(1), svg);
}

function change(from, to, kind, unit) {
  if (kind === "total" || kind === "before") return quantity(to, unit);
  return (to < from ? "−" : "+") + quantity(Math.abs(to - from), unit);
}

function drawSection(one) {
  const energy = Object.keys(one.energy_by).length ? [panel("Energy by component", ...bars(one.energy_by, "J"))] : [];
  const text = panel(one.text_title || (one.pictures ? "Layout" : "Loop nest"), el("pre", { class: "nest" }, one.loop_nest));
  const panels = [
    ...(one.text_title ? [wide(text)] : []),
    column(one.text_title ? null : text, factsPanel(one.facts)),
    column(...energy, Object.keys(one.time_by).length ? panel(one.time_title, ...bars(one.time_by, one.time_unit)) : null),
  ];
  for (const [name, svg] of Object.entries(one.pictures || {})) panels.push(wide(panel(name, picture(svg))));
  if (one.maps) panels.push(wide(panel("The grid, element by element", mapRow(one.maps))));
  if (one.timeline && one.timeline.lanes.length) panels.push(wide(timelinePanel(one.timeline)));
  return el("div", { class: "details" }, ...panels.filter(Boolean));
}

// An SVG document of ours, as an image: nothing in it can run, and its styles stay inside.
function picture(svg, words = "What lies where", kind = "") {
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  return el("div", { class: `picture ${kind}` }, el("img", { src: source, alt: words, style: "max-width:100%" }));
}

function column(...panels) {
  return el("div", { class: "column" }, ...panels.filter(Boolean));
}

function panel(heading, ...content) {
  return el("div", { class: "panel" }, el("h3", {}, heading), ...content);
}

function wide(node) {
  node.classList.add("wide");
  return node;
}

function factsPanel(facts) {
  const entries = Object.entries(facts || {});
  if (!entries.length) return null;
  return panel("Checks and figures", el("table", { class: "kv" }, el("tbody", {}, ...entries.map(([name, value]) =>
    el("tr", {}, el("td", {}, name), typeof value === "number" ? el("td", { class: "num" }, digits(value, 4)) : el("td", { class: "fact" }, String(value)))))));
}

function bars(values, unit) {
  const entries = Object.entries(values).filter(([, value]) => value > 0);
  if (!entries.length) return [el("p", { class: "muted" }, "Nothing to show.")];
  const total = entries.reduce((sum, [, value]) => sum + value, 0), largest = Math.max(...entries.map(([, value]) => value));
  return entries.map(([name, value]) => el("div", { class: "hbar", title: `${name}: ${quantity(value, unit)}` },
    el("span", { class: "name" }, name), el("i", { style: `width:${(100 * value) / largest}%` }),
    el("span", { class: "num" }, quantity(value, unit)),
    el("span", { class: "num muted" }, ["J", "cycles"].includes(unit) ? digits((100 * value) / total, 2) + " %" : "")));
}

function mapRow(maps) {
  return el("div", { class: "maps" }, ...Object.entries(maps).map(([name, map]) => heatMap(name, map.values, map.unit)));
}

function heatMap(name, rows, unit) {
  const height = rows.length, width = rows[0].length, flat = rows.flat();
  const high = Math.max(...flat, 0), colors = ramp();
  const place = flat.indexOf(high);
  const words = `Heat map of ${width} by ${height} elements, ${name}: from ${quantity(Math.min(...flat), unit)} to ${quantity(high, unit)}, most in column ${place % width}, row ${Math.floor(place / width)}`;
  const canvas = el("canvas", { width, height, role: "img", "aria-label": words, style: `aspect-ratio:${width}/${height}` });
  const context = canvas.getContext("2d");
  rows.forEach((row, y) => row.forEach((value, x) => {
    context.fillStyle = mix(colors, high > 0 ? value / high : 0);
    context.fillRect(x, y, 1, 1);
  }));
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.min(width - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * width)));
    const y = Math.min(height - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * height)));
    tip.show(event, el("b", {}, `column ${x}, row ${y}`), tipTable([[name, quantity(rows[y][x], unit)]]));
  });
  canvas.addEventListener("mouseleave", tip.hide);
  const scale = el("div", { class: "scale" }, "0", el("i", { style: `background:linear-gradient(90deg, ${mix(colors, 0)}, ${mix(colors, 1)})` }), quantity(high, unit));
  return el("div", { class: "map" }, el("h3", {}, name), canvas, scale);
}

function ramp() {
  const dark = document.documentElement.dataset.theme === "dark";
  return dark ? [[34, 40, 48], [63, 201, 184]] : [[240, 238, 231], [9, 84, 77]];
}

function mix([from, to], share) {
  return `rgb(${from.map((part, index) => Math.round(part + (to[index] - part) * share)).join(" ")})`;
}

function timelinePanel(timeline) {
  const kinds = [...new Set(timeline.lanes.flatMap((lane) => lane.spans.map((span) => span[3])))].sort();
  const color = (kind) => PALETTE[kinds.indexOf(kind) % PALETTE.length];
  const holder = el("div", { class: "timeline" });
  const zoom = el("input", { type: "range", min: 1, max: 40, value: 1, "aria-label": "Zoom", oninput: () => draw() });
  const draw = () => holder.replaceChildren(timelineSvg(timeline, Number(zoom.value), color));
  draw();
  const swatches = el("div", { class: "swatches" }, ...kinds.map((kind) => el("span", {}, el("b", { style: `background:${color(kind)}` }), kind)));
  const rest = timeline.lanes_in_all > timeline.lanes.length ? el("p", { class: "muted", style: "font-size:13px;margin:8px 0 0" }, `${timeline.lanes.length} of ${digits(timeline.lanes_in_all)} threads, spread over the grid; \`tilewright simulate … --out\` writes all of them.`) : null;
  const rows = el("p", { class: "muted", style: "margin:0 0 8px;font-size:13px" }, timeline.rows || "", el("label", { class: "zoom" }, timeline.rows ? " · zoom " : "zoom ", zoom));
  return panel("Timeline of operations", swatches, rows, holder, ...(rest ? [rest] : []));
}

function timelineSvg(timeline, zoom, color) {
  const rowHeight = 18, left = 150, width = 1080 * zoom, height = timeline.lanes.length * rowHeight + 34;
  const x = (time) => left + ((width - left - 16) * time) / Math.max(1, timeline.end);
  const words = `Timeline of ${timeline.lanes.length} threads over ${digits(timeline.end)} ${timeline.unit}`;
  const svg = el("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  const bottom = height - 30;
  for (const tick of niceTicks(0, timeline.end, (width - left) / 110)) {
    svg.append(el("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 0, y2: bottom }),
      el("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, digits(tick)));
  }
  timeline.lanes.forEach((lane, index) => {
    const y = index * rowHeight + 3;
    svg.append(el("text", { x: left - 8, y: y + 10, "text-anchor": "end" }, lane.name));
    for (const [start, end, what, kind] of lane.spans) {
      svg.append(el("rect", {
        x: x(start), y, width: Math.max(0.7, x(end) - x(start)), height: 12, fill: color(kind), rx: 1.5,
        onmousemove: (event) => tip.show(event, el("b", {}, what), tipTable([["from", `${digits(start)} ${timeline.unit}`], ["to", `${digits(end)} ${timeline.unit}`], ["where", lane.name]])),
        onmouseleave: tip.hide,
      }));
    }
  });
  svg.append(el("text", { class: "axis-title", x: left - 8, y: bottom + 17, "text-anchor": "end" }, timeline.unit));
  return svg;
}
