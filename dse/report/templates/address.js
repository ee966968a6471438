// What the reader has chosen, in the address: a link shows the same design, axes, limits and rows.
// report.html#trial-17&axis-y=area&limit.energy=3.2e-6&status=front
const AXES = ["axis-x", "axis-y"], LOGS = ["log-x", "log-y"], ROWS = ["filter", "status"];
const FIRST_AXES = new Map();
let restoring = false;

function remember() {
  if (restoring || selected === null) return;
  const state = new URLSearchParams();
  for (const id of AXES) if (byId(id).value !== FIRST_AXES.get(id)) state.set(id, byId(id).value);
  for (const id of LOGS) if (byId(id).dataset.asked) state.set(id, byId(id).checked ? "on" : "off");
  for (const [name, limit] of LIMITS) state.set(`limit.${name}`, limit.value);
  for (const id of ROWS) if (byId(id).value) state.set(id, byId(id).value);
  const text = state.toString();
  history.replaceState(null, "", `#trial-${selected}${text && `&${text}`}`);
}

// The trial that the address names; nothing for another address.
function linked() {
  const match = /^#trial-(\d+)(?:&|$)/.exec(location.hash);
  return match && TRIALS.has(Number(match[1])) ? Number(match[1]) : null;
}

// Set what the address says beside the trial; all else stays as it is.
function restore() {
  const text = location.hash.split("&").slice(1).join("&");
  if (linked() === null || !text) return;
  const state = new URLSearchParams(text);
  restoring = true;
  for (const id of AXES) if ([...byId(id).options].some((option) => option.value === state.get(id))) byId(id).value = state.get(id);
  for (const id of LOGS) if (state.has(id)) { byId(id).checked = state.get(id) === "on"; byId(id).dataset.asked = "yes"; }
  for (const slider of document.querySelectorAll("#limits input")) {
    const limit = state.get(`limit.${slider.dataset.metric}`);
    if (limit !== null && limit !== "" && !isNaN(limit)) moveTo(slider, Number(limit));
  }
  for (const id of ROWS) if (state.has(id)) byId(id).value = state.get(id);
  byId("limits").parentElement.open ||= LIMITS.size > 0;
  restoring = false;
  filterTable();
}

function setUpAddress() {
  for (const id of AXES) FIRST_AXES.set(id, byId(id).value);
  for (const id of [...AXES, ...LOGS, "status"]) byId(id).addEventListener("change", remember);
  byId("filter").addEventListener("input", remember);
  restore();
  addEventListener("hashchange", () => {
    restore();
    if (linked() === null) return;
    select(linked(), true, false);
    remember();
  });
}
