"""The report holds the data of the run, stands alone, and is safe against hostile text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.report.report import render, write_report
from tilewright.dse.report.report_data import MAX_MAPPINGS, own_front
from tilewright.dse.run.record import Trial
from tilewright.dse.run.runner import RunSettings, resume_study, start_study
from tilewright.dse.store.extension import Changes
from tilewright.dse.study.study_loading import load_stored_study, load_study


class Page(HTMLParser):
    """Collects elements that could load something, and the text of the embedded data."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.scripts, self._inside = [], [], None
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.loads += [given[key] for key in ("src", "data", "action") if key in given]
        if tag == "link" or (tag == "a" and not given.get("href", "").startswith("#")):
            self.loads.append(given.get("href"))
        if tag == "script":
            self.scripts.append([given.get("type"), ""])
            self._inside = self.scripts[-1]

    def handle_endtag(self, tag):
        if tag == "script":
            self._inside = None

    def handle_data(self, data):
        if self._inside is not None:
            self._inside[1] += data


@pytest.fixture(scope="module")
def result(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    path = toy.write_study(folder)
    return start_study(load_study(path), folder / "run", RunSettings(evaluator=toy.ToyModel()))


@pytest.fixture(scope="module")
def text(result):
    return (result.run.path / "report.html").read_text()


def test_nothing_is_loaded_from_anywhere(text):
    page = Page(text)
    assert page.loads == []
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}, "the name of SVG, which is not loaded"
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\s*\(", text)


def test_the_data_is_that_of_the_trials(text, result):
    kind, content = Page(text).scripts[0]
    assert kind == "application/json"
    data = json.loads(content)
    assert len(data["trials"]) == len(result.trials)
    for row, trial in zip(data["trials"], result.trials, strict=True):
        assert row["metrics"] == trial.metrics
        assert row["point"] == list(trial.point.values())
    assert data["front"] == [design["number"] for design in result.front["front"]]
    assert set(data["details"]) >= {str(number) for number in data["front"]}
    assert data["hypervolume"] == result.front["hypervolume"]


def test_the_table_has_objectives_then_knobs_then_other_metrics(text):
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", text)
    place = heads.index("trial")
    assert heads[place : place + 8] == [
        "trial", "status", "energy", "cycles", "GridX", "GridY", "reduction", "tile",
    ]  # fmt: skip
    assert {"latency", "utilization"} <= set(heads[place + 8 :])


def test_every_trial_and_reason_stands_in_the_page_itself(text, result):
    assert text.count("<tr data-trial=") == len(result.trials)
    assert "does not divide over" in text
    assert f"seed</dt><dd>{result.spec.seed}" in text.lower()
    for digest in result.run.environment()["files"].values():
        assert digest in text


def test_a_repeat_of_a_design_of_the_front_is_not_called_beaten(text, result):
    best = result.front["front"][0]["number"]
    repeat = replace(result.trials[best], number=len(result.trials), same_as=best)
    spec = load_stored_study(result.run.path / "spec.resolved.yaml")
    page = render(result.run, spec, [*result.trials, repeat])
    states = dict(
        re.findall(
            r'data-trial="(\d+)" data-state.*?<span class="chip[^>]*>([^<]*)', page, re.DOTALL
        )
    )
    assert states[str(best)] == "front"
    assert states[str(repeat.number)] == "repeat"


def test_hostile_text_stays_text(toy, tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

    class Evil(toy.ToyModel):
        def evaluate(self, point):
            if point["mapping.up.reduction"] == "tree":
                raise SpecError(evil)
            return super().evaluate(point)

    path = toy.write_study(tmp_path, toy.STUDY.replace("Which grid", f"'{evil} Which grid", 1))
    path.write_text(path.read_text().replace("which is fastest?", "which is fastest?'"))
    found = start_study(load_study(path), tmp_path / "run", RunSettings(evaluator=Evil()))
    page = (found.run.path / "report.html").read_text()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert len(Page(page).scripts) == 2
    assert (
        evil
        in json.loads(Page(page).scripts[0][1])["trials"][
            next(t.number for t in found.trials if t.status == "infeasible" and "img" in t.reason)
        ]["reason"]
    )


def test_it_can_be_written_anew_without_the_input_files(result, text):
    (result.run.path.parent / "arch.yaml").unlink()
    spec = load_stored_study(result.run.path / "spec.resolved.yaml")
    write_report(result.run, spec, result.run.trials())
    assert (result.run.path / "report.html").read_text() == text


def test_an_extended_run_says_from_which_trial_on(toy, tmp_path):
    """The first command alone would make other trials."""
    run = start_study(
        load_study(toy.write_study(tmp_path), {"search.trials": 16}),
        tmp_path / "run", RunSettings(evaluator=toy.ToyModel()),
    ).run  # fmt: skip
    assert "<dt>Extended</dt>" not in (run.path / "report.html").read_text()
    changes = Changes(trials=24, settings={"search.sampler": "random"})
    trials = resume_study(run.path, RunSettings(evaluator=toy.ToyModel()), changes).trials
    page = (run.path / "report.html").read_text()
    first = min(t.number for t in trials if t.batch >= run.environment()["extensions"][0]["batch"])
    assert f"<dd>24 trials, sampler random, from trial {first} on</dd>" in page
    command = f"tilewright study resume {run.path} --trials 24 --add search.sampler=random</pre>"
    assert f"\n{command}" in page
    assert "spec.resolved.yaml" not in page


def test_a_run_without_any_trial_has_a_report_too(toy, tmp_path):
    found = start_study(
        load_study(toy.write_study(tmp_path), {"search.trials": 8}),
        tmp_path / "run",
        RunSettings(evaluator=toy.ToyModel()),
    )
    (tmp_path / "run" / "trials.jsonl").write_text("")
    page = write_report(found.run, found.spec, [])
    assert "0 of 8 trials" in page.read_text()


def test_a_page_of_a_large_front_stays_small(toy, tmp_path, monkeypatch):
    result = start_study(
        load_study(toy.write_study(tmp_path)),
        tmp_path / "run",
        RunSettings(evaluator=toy.ToyModel()),
    )
    sizes = [path.stat().st_size for path in (tmp_path / "run" / "details").iterdir()]
    monkeypatch.setattr("tilewright.dse.report.report_data.MAX_DETAILS", sum(sizes) // 2)
    page = write_report(result.run, result.spec, result.trials).read_text()
    shown = json.loads(Page(page).scripts[0][1])["details"]
    assert 0 < len(shown) < len(sizes)
    assert len(json.dumps(shown)) < sum(sizes) / 2


def test_the_page_can_be_used_by_keyboard_and_linked_to(text):
    """Rows are links that open a design, heads are buttons, pictures have words (in page.js)."""
    assert '<a href="#trial-0">0</a>' in text
    assert "outline: none" not in text
    for words in ('class: "sort"', 'role: "img"', "#trial-${number}", '"hashchange"'):
        assert words in text


def test_an_own_front_has_the_metrics_asked_for_and_is_thinned():
    rows = [{"energy": float(n), "area": 1.0, "usage.Buffer": 8.0 * n} for n in range(500)]
    trial = Trial(number=0, batch=0, batch_size=1, key="a", point={}, status="feasible",
                  metrics={"energy": 0.0}, mappings=rows)  # fmt: skip
    kept = own_front(trial, ("energy", "usage"))
    assert len(kept) == MAX_MAPPINGS
    assert (kept[0], kept[-1]) == (
        {"energy": 0.0, "usage.Buffer": 0.0}, {"energy": 499.0, "usage.Buffer": 3992.0}
    )  # fmt: skip
    assert own_front(trial, ("area",))[7] == {"area": 1.0}
