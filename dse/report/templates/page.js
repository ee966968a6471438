// What is selected, and the table.
let selected = null;
let filterTable = () => {};

function select(number, scroll = false, remembers = true) {
  const trial = TRIALS.get(number);
  if (!trial) return;
  selected = trial.same === null ? number : trial.same;
  for (const node of document.querySelectorAll(".card, #table tbody tr")) {
    const chosen = Number(node.dataset.select ?? node.dataset.trial) === selected;
    node.classList.toggle("selected", chosen);
    if (node.tagName === "BUTTON") node.setAttribute("aria-pressed", chosen);
  }
  if (remember) history.replaceState(null, "", `#trial-${number}`); // a link to this design
  showRow();
  drawAll();
  if (scroll) byId("tradeoff").scrollIntoView();
}

// Scrolls the table, not the page, to the row that is selected, if it is out of sight.
function showRow() {
  const row = document.querySelector("#table tbody tr.selected:not([hidden])");
  if (!row) return;
  const box = row.closest(".table-box"), { top, bottom } = box.getBoundingClientRect(), place = row.getBoundingClientRect();
  const head = byId("table").tHead.getBoundingClientRect().height;
  if (place.top < top + head || place.bottom > bottom) box.scrollTop += place.top - top - box.clientHeight / 2;
}

function drawAll() {
  drawScatter();
  drawProgress();
  const trial = TRIALS.get(selected);
  if (trial) { drawSummary(trial); drawDesign(trial); }
}

function setUpAxes() {
  const hasMetrics = DATA.metrics.length > 0;
  const names = [...DATA.metrics.map((metric) => metric.name), TRIAL_AXIS];
  const values = (name) => new Set(DATA.trials.map((trial) => trial.metrics[name]).filter((value) => value !== undefined)).size;
  const objectives = [...GOALS.keys()].sort((a, b) => (values(a) < 2) - (values(b) < 2)); // what all agree in is no axis
  const start = objectives.length > 1 ? objectives : [TRIAL_AXIS, objectives[0]];
  ["axis-x", "axis-y"].forEach((id, index) => {
    byId(id).append(...names.map((name) => el("option", { value: name }, name === TRIAL_AXIS ? name : METRICS.get(name).label)));
    byId(id).value = hasMetrics ? start[index] : TRIAL_AXIS;
    byId(id).addEventListener("change", () => { delete byId(`log-${"xy"[index]}`).dataset.asked; drawScatter(); });
  });
  for (const box of [byId("log-x"), byId("log-y")]) box.addEventListener("change", () => { box.dataset.asked = "yes"; drawScatter(); });
  byId("near").addEventListener("change", drawScatter);
  byId("scatter").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], front = DATA.front.filter((n) => currentFront.has(n));
    if (!step || !front.length) return;
    event.preventDefault();
    select(front[(Math.max(front.indexOf(selected), step > 0 ? -1 : 0) + step + front.length) % front.length]);
  });
  const distinct = DATA.trials.some((trial) => trial.status === "violates");
  document.querySelector(".only-limits").hidden = !distinct;
  document.querySelector(".only-reference").hidden = DATA.reference === null;
}

function setUpTable() {
  const table = byId("table"), body = table.tBodies[0];
  const rows = [...body.rows];
  rows.forEach((row) => row.addEventListener("click", () => select(Number(row.dataset.trial))));
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.append(el("button", { type: "button", class: "sort", onclick: () => sortBy(head, column) }, ...head.childNodes));
  });
  filterTable = () => {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean), state = byId("status").value;
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = (!state || row.dataset.state === state || (state === "feasible" && row.dataset.state === "front")) && words.every((word) => text.includes(word)) && (!LIMITS.size || within(TRIALS.get(Number(row.dataset.trial))));
      row.hidden = !fits;
      count += fits;
    }
    byId("shown").textContent = count === rows.length ? `${count} trials` : `${count} of ${rows.length} trials`;
  };
  byId("filter").addEventListener("input", filterTable);
  byId("status").addEventListener("change", filterTable);
  byId("csv").addEventListener("click", saveCsv);
  filterTable();

  function sortBy(head, column) {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
    const ranked = rows.map((row) => [key(row), row]).sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === ""); // nothing comes last, both ways
      const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
      return descending ? -order : order;
    });
    body.append(...ranked.map(([, row]) => row));
  }
}

// The rows that are shown, in their order, with plain numbers in SI units.
function csvText() {
  const table = byId("table"), quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = [...table.tHead.rows[0].cells].map((cell) => cell.dataset.name ?? cell.textContent.trim());
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => cell.dataset.v ?? cell.querySelector(".chip").textContent.trim()));
  return [head, ...rows].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

function saveCsv() {
  const link = el("a", { href: URL.createObjectURL(new Blob([csvText()], { type: "text/csv" })), download: "trials.csv" });
  link.click();
  URL.revokeObjectURL(link.href);
}

setUpAxes();
setUpTable();
setUpKnobs();
setUpLimits();
setUpTheme();
document.querySelectorAll(".card").forEach((card) => card.addEventListener("click", () => select(Number(card.dataset.select), true)));
const starts = [...document.querySelectorAll(".card")].map((card) => Number(card.dataset.select)).reverse();
setUpAddress();
select(linked() ?? starts.find((number) => number !== DATA.reference) ?? starts[0] ?? DATA.reference ?? (DATA.trials[0] || {}).n, linked() !== null, false);
