"""The report in a headless browser: no error of its scripts, charts drawn, every control works."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from cascades import cascade_arch, cascade_workload
from design_files import run_here

from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.report.execution_page import page_of, write_execution_page
from tilewright.dse.report.report import write_report
from tilewright.simulator.search.grid_mapping import map_on_grid

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
ACTIONS = """
<script>
const seen = {};
const press = (node, key) =>
  node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const move = (node, value) => { node.value = value; node.dispatchEvent(new Event("input")); };
const rows = () => [...document.querySelectorAll("#table tbody tr")].filter((row) => !row.hidden);

// A walk over all that takes the focus: each gets it, is seen, and has a name.
const stops = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")]
  .filter((node) => node.checkVisibility() && node.tabIndex >= 0);
seen.stops = stops.length;
seen.unseen = stops.filter((node) => {
  node.focus();
  return document.activeElement !== node || getComputedStyle(node).outlineStyle === "none";
}).map((node) => node.outerHTML.slice(0, 80));
seen.unnamed = stops.filter((node) => !(node.textContent.trim() || node.ariaLabel || node.title
  || (node.labels && node.labels.length))).map((node) => node.outerHTML.slice(0, 80));

const before = selected;
press(byId("scatter"), "ArrowRight");
seen.walked = selected !== before && location.hash === `#trial-${selected}`;

const boxed = (row) => {
  const box = row.closest(".table-box").getBoundingClientRect();
  const place = row.getBoundingClientRect();
  return place.top >= box.top && place.bottom <= box.bottom;
};
const last = DATA.trials.filter((trial) => trial.same === null).at(-1).n;
const rowOf = (number) => document.querySelector(`#table tr[data-trial="${number}"]`);
byId("table").closest(".table-box").scrollTop = 0;
seen.hidden = !boxed(rowOf(last));
const place = scrollY;
select(last);
seen.shown = boxed(rowOf(last)) && scrollY === place;
select(Number(before));

const energies = () => rows().map((row) => row.cells[2].dataset.v).filter(Boolean).map(Number);
document.querySelectorAll("#table .sort")[2].click();
seen.sorted = energies().every((value, i, all) => i === 0 || all[i - 1] <= value);

seen.all = rows().length;
const slider = document.querySelector("#limits input");
move(slider, 3);
seen.within = rows().filter((row) => row.cells[2].dataset.v).length;
seen.faded = document.querySelectorAll("#scatter .out").length;
seen.count = byId("limits-count").textContent;
byId("status").value = "front";
byId("status").dispatchEvent(new Event("change"));
byId("axis-y").value = "trial number";
byId("axis-y").dispatchEvent(new Event("change"));
seen.address = location.hash;
byId("status").value = "";
byId("status").dispatchEvent(new Event("change"));
const dots = () => document.querySelectorAll("#scatter .p").length;
const everywhere = dots();
byId("near").click();
const beyond = Number(/(\\d+) designs? lies? beyond/.exec(byId("scatter").textContent)[1]);
seen.near = [everywhere, dots(), beyond];
byId("near").click();
seen.csv = csvText().split("\\n").slice(0, 2);
document.querySelector("#limits button").click();
seen.again = rows().length;

seen.steps = document.querySelectorAll("#design .step-total").length;
byId("slice-metric").value = "cycles"; // numbers of seven digits
byId("slice-metric").dispatchEvent(new Event("change"));
const texts = ".waterfalls text, .slice text, #parallel text";
seen.cut = [...document.querySelectorAll(texts)].filter((node) => {
  const box = node.getBBox(), view = node.ownerSVGElement.viewBox.baseVal;
  return box.x < 0 || box.x + box.width > view.width || node.textContent.includes("…");
}).map((node) => node.textContent);
seen.values = [...document.querySelectorAll(".slice")].map((figure) =>
  [...figure.querySelectorAll(".tick")].map((node) => node.textContent));
byId("log-x").click();
seen.log = byId("scatter").textContent.includes("log scale");
seen.ticks = document.querySelectorAll("#scatter line.grid").length;
// The page's own listener comes first: after it, what the link says is there.
const then = (step) => addEventListener("hashchange", step, { once: true });
then(() => {
  seen.linked = selected;
  then(() => {
    seen.restored = [LIMITS.size, byId("status").value, byId("axis-y").value, rows().length];
    document.body.append(el("pre", { id: "seen" }, JSON.stringify(seen)));
  });
  location.hash = seen.address;
});
location.hash = "#trial-0";
</script>
"""


def opened(page):
    """Open a page in the browser; return its document after its scripts, and what they logged."""
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--virtual-time-budget=2000", "--window-size=1280,900", "--allow-file-access-from-files",
         "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.nightly
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_charts_are_drawn_and_every_control_works(toy, tmp_path):
    run_here(toy, tmp_path, {"search.trials": 36}, evaluator=WithBreakdown(toy.ToyModel()))
    text = (tmp_path / "run" / "report.html").read_text()
    page = tmp_path / "acted.html"
    page.write_text(text.replace("</body>", f"{ACTIONS}</body>"))
    document, logged = opened(page)
    assert not logged
    assert document.count('class="slice"') == 4, "one for each knob"
    assert document.count('class="thread') > 10
    assert document.count("<circle") > 40
    match = re.search(r'<pre id="seen">(.*?)</pre>', document)
    assert match is not None, "the actions ended early"
    seen = json.loads(html.unescape(match[1]))
    assert seen["stops"] > 40
    assert seen["unseen"] == []
    assert seen["unnamed"] == []
    assert seen["walked"]
    assert seen["hidden"], "the last row is out of sight"
    assert seen["shown"], "the table scrolls to what is selected, the page does not"
    assert seen["steps"] == 2, "a waterfall from the reference to the design"
    assert seen["cut"] == [], "texts of waterfalls, slices and parallel axes are whole"
    assert seen["values"][0][:6] == ["1", "2", "4", "8", "16", "32"]
    assert seen["values"][2][:2] == ["chain", "tree"], "the ends, in the order of the space"
    assert seen["sorted"]
    assert 0 < seen["within"] < seen["all"] == seen["again"]
    assert seen["faded"] > 0
    assert "beaten by none" in seen["count"]
    everywhere, near, beyond = seen["near"]
    assert 0 < near < everywhere == near + beyond
    assert seen["csv"][0].startswith("trial,status,energy,cycles")
    assert float(seen["csv"][1].split(",")[2]) > 0
    assert seen["log"]
    assert seen["ticks"] >= 6, "both axes have ticks"
    assert seen["linked"] == 0
    assert re.fullmatch(
        r"#trial-\d+&axis-y=trial\+number&limit\.energy=[\d.e-]+&status=front", seen["address"]
    )
    assert seen["restored"][:3] == [1, "front", "trial number"], "as the link says"
    assert 0 < seen["restored"][3] <= seen["within"]


NARROW = """
<iframe src="run/report.html" style="width: 400px; height: 3000px; border: 0"></iframe>
<script>
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument;
  const boxed = (node) => {
    for (let at = node.parentElement; at; at = at.parentElement)
      if (page.defaultView.getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  const out = [...page.querySelectorAll("main *, footer *, header *")].filter(
    (node) => node.getBoundingClientRect().right > 400.5 && !boxed(node));
  const seen = document.createElement("pre");
  seen.id = "seen";
  const texts = out.map((node) => node.outerHTML);
  const box = (node) => node.getBoundingClientRect();
  const heights = [...page.querySelectorAll(".chart svg text")].map((node) => box(node).height);
  const bars = [...page.querySelectorAll(".hbar i")].map((node) => box(node).width);
  const charts = ["scatter", "progress"].map((id) => box(page.getElementById(id)).width);
  const sizes = [Math.min(...heights), Math.max(...bars), Math.max(...charts)];
  seen.textContent = JSON.stringify([page.documentElement.scrollWidth, texts, ...sizes]);
  document.body.append(seen);
});
</script>
"""


@pytest.mark.nightly
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_nothing_sticks_out_of_a_narrow_window(toy, tmp_path):
    """And charts can be read there: letters of 8 pixels, bars that are longer than wide."""
    run_here(toy, tmp_path, evaluator=WithBreakdown(toy.ToyModel()))
    page = tmp_path / "narrow.html"
    page.write_text(NARROW)
    document, logged = opened(page)
    assert not logged
    seen = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', document)[1]))
    width, out, letters, bars, charts = seen
    assert width <= 400
    assert out == []
    assert letters >= 8
    assert bars > 40
    assert charts < 400, "drawn to the width, not to be scrolled"


TICKS = """
<script>
const chart = byId("scatter").getBoundingClientRect();
const parallel = byId("parallel").getBoundingClientRect();
const cut = [...document.querySelectorAll("#scatter text, #parallel text")]
  .filter((node) => node.getBoundingClientRect().left < chart.left
    || node.getBoundingClientRect().right > parallel.right + 0.5)
  .map((node) => node.textContent);
document.body.append(el("pre", { id: "seen" }, JSON.stringify(cut)));
</script>
"""


@pytest.mark.nightly
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("size", ["1e-9", "1e9"])
def test_axes_of_very_small_and_large_figures_are_whole(toy, tmp_path, size):
    """Nor is the name of the last axis cut, a long expression."""
    expression = f"cycles * {size} + 0 * latency"
    objectives = {"objectives": ["energy", expression], "search.trials": 16}
    run_here(toy, tmp_path, objectives)
    page = tmp_path / "ticks.html"
    text = (tmp_path / "run" / "report.html").read_text()
    page.write_text(text.replace("</body>", f"{TICKS}</body>"))
    document, logged = opened(page)
    assert not logged
    seen = re.search(r'<pre id="seen">(.*?)</pre>', document)
    assert seen is not None
    assert json.loads(html.unescape(seen[1])) == []
    assert "·10" in document


@pytest.mark.nightly
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_heat_maps_of_an_execution_are_drawn_anew_in_the_dark(tmp_path):
    execution = map_on_grid(cascade_arch(2, 2), cascade_workload("two products")).execution
    page = tmp_path / "execution.html"
    write_execution_page(page, page_of(execution, "two products"))
    acts = """<script>
      const shade = () => [...document.querySelector("canvas").getContext("2d")
        .getImageData(0, 0, 1, 1).data];
      const before = shade();
      byId("theme").click();
      document.body.append(el("pre", { id: "seen" }, JSON.stringify([before, shade()])));
    </script>"""
    page.write_text(page.read_text().replace("</body>", f"{acts}</body>"))
    document, logged = opened(page)
    assert not logged
    light, dark = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', document)[1])
    assert light != dark


@pytest.mark.nightly
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_the_own_front_of_a_design_is_drawn(toy, tmp_path):
    class WithMappings(toy.ToyModel):
        def evaluate(self, point):
            outcome = super().evaluate(point)
            energy, cycles = outcome.metrics["energy"], outcome.metrics["cycles"]
            rows = [{"energy": energy * n, "cycles": cycles / n, "area": n} for n in (1, 2, 3)]
            return replace(outcome, mappings=tuple(rows))

    result = run_here(toy, tmp_path, {"search.trials": 16}, evaluator=WithMappings())
    spec = replace(result.spec, mapper={"front": ["energy", "cycles"]})
    document, logged = opened(write_report(result.run, spec, result.trials))
    assert not logged
    drawn = re.search(r'<figure class="panel chart own-front".*?</figure>', document, re.DOTALL)
    assert drawn is not None
    assert "Its own front: 3 mappings" in drawn[0]
    assert drawn[0].count('class="p own"') == 3
    assert drawn[0].count('class="ring"') == 1
    assert len(set(re.findall(r'class="p own" r="4.5" cx="([\d.]+)"', drawn[0]))) == 3


class WithBreakdown:
    """A model whose outcomes also say where their energy goes."""

    def __init__(self, model):
        self._model = model

    def evaluate(self, point):
        outcome = self._model.evaluate(point)
        energy = outcome.metrics["energy"]
        parts = {"energy": {"not enough wavelets": 0.6 * energy, "SRAM": 0.4 * energy}}
        return Outcome(outcome.metrics, details=outcome.details, breakdown=parts)
