"""What a study would cost: one design is tried, and ended where it takes long."""

from __future__ import annotations

import time

import pytest

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.dse.models.evaluator import Outcome, is_check
from tilewright.dse.query import estimate as module
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.searches.budget import STOP_REQUESTED


class Search:
    """Takes some seconds, or ends when it is asked to."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.asked = 0

    def evaluate(self, point):
        self.asked += 1
        STOP_REQUESTED.wait(self.seconds)
        return Outcome({"energy": 1.0, "latency": 1.0, "area": 1.0})


@pytest.mark.parametrize(("seconds", "asked"), [(0.0, 2 + module.DRAWN), (20.0, 1)])
def test_a_long_design_is_ended(toy, tmp_path, monkeypatch, seconds, asked):
    search = Search(seconds)
    monkeypatch.setattr(module, "make_evaluator", lambda _: search)
    monkeypatch.setattr(module, "preflight", lambda _: None)
    monkeypatch.setattr(module, "PATIENCE", 0.4)
    spec = load_study(toy.write_study(tmp_path))
    began = time.monotonic()
    found = module.estimate(spec, workers=2)
    assert time.monotonic() - began < 10
    assert search.asked == asked
    assert found.is_cut == found.document()["at_least"] == (seconds > 0)
    assert ("takes more than 0.4 s" in found.text()) == (seconds > 0)
    assert found.text().splitlines()[-1].startswith("more than" if seconds else "about")
    assert not STOP_REQUESTED.is_set()


def test_what_the_first_design_loads_or_compiles_does_not_count(toy, tmp_path, monkeypatch):
    class SlowAtFirst(Search):
        def evaluate(self, point):
            self.seconds = 0.0 if self.asked else 0.3
            return super().evaluate(point)

    monkeypatch.setattr(module, "make_evaluator", lambda _: SlowAtFirst(0.0))
    monkeypatch.setattr(module, "preflight", lambda _: None)
    monkeypatch.setattr(module, "PATIENCE", 0.4)
    found = module.estimate(load_study(toy.write_study(tmp_path)), workers=2)
    assert found.sample.seconds < 0.2
    assert not found.is_cut


class Differing:
    """The reference takes no time; of the other designs each takes some, and half are no good."""

    def __init__(self, reference, seconds):
        self.reference = reference
        self.seconds = seconds
        self.asked = []

    def evaluate(self, point):
        if point != self.reference:
            self.asked.append(tuple(point.values()))
            STOP_REQUESTED.wait(self.seconds)
            if len(self.asked) % 2:
                raise SpecError("it does not fit")
        return Outcome({"energy": 1.0, "latency": 1.0, "area": 1.0})


@pytest.mark.parametrize(("seconds", "drawn", "is_cut"), [(0.02, 8, False), (0.3, 3, True)])
def test_other_designs_count_too(toy, tmp_path, monkeypatch, seconds, drawn, is_cut):
    spec = load_study(toy.write_study(tmp_path))
    model = Differing(dict(spec.baselines[0].point), seconds)
    monkeypatch.setattr(module, "make_evaluator", lambda _: model)
    monkeypatch.setattr(module, "preflight", lambda _: None)
    monkeypatch.setattr(module, "DRAWN_S", 0.8)
    found = module.estimate(spec, workers=1)
    assert len(found.drawn) == len(set(model.asked)) == drawn
    assert found.is_cut == is_cut
    assert found.text().splitlines()[2].startswith("one design took "), "it took no 30 s"
    assert ("the last was ended" in found.text()) == is_cut
    lacking = (drawn + 1) // 2
    assert f"{lacking} cannot be built" in found.text()
    assert found.evaluations == min(144, -(-72 * (drawn + 1) // (drawn + 1 - lacking)))
    assert found.seconds >= 0.5 * seconds * found.evaluations, "not 72 times nothing"
    assert "evaluations: 72 of designs that can be built, 144 of any at most" in found.text()


def test_a_search_for_many_designs_counts_for_each_number_of_lanes(finished, tmp_path):
    """Not the milliseconds of a design that an earlier search has answered."""
    for name in ("arch.yaml", "work.yaml"):
        (tmp_path / name).write_text((finished.parent / name).read_text())
    (tmp_path / "study.yaml").write_text(
        "name: sweep\narch: {file: arch.yaml}\nworkload: {file: work.yaml}\nmodel: analytical\n"
        "objectives: [energy, area]\nsearch: {sampler: grid, trials: 32}\nspace:\n"
        "  arch.Buffer.size: {values: [128, 256, 512, 1024, 1536, 2048, 3072, 4096]}\n"
        "  arch.variables.Lanes: {values: [2, 4, 8, 16]}\n"
    )
    spec = load_study(tmp_path / "study.yaml", {"mapper.fusion": False})
    found = module.estimate(spec, workers=1)
    assert found.searches == 4
    assert found.seconds_known < found.sample.seconds
    assert found.seconds >= 4 * found.sample.seconds
    assert "Such searches: 4 at most" in found.text()
    assert found.document()["searches"] == 4


def test_designs_that_a_check_refuses_are_not_drawn(toy, tmp_path, monkeypatch):
    class Checked(Search):
        has_check = True
        searched = 0

        def evaluate(self, point):
            if is_check(point):
                raise TilewrightError("too large")
            self.searched += 1
            return super().evaluate(point)

    search = Checked(0.0)
    monkeypatch.setattr(module, "make_evaluator", lambda _: search)
    monkeypatch.setattr(module, "preflight", lambda _: None)
    found = module.estimate(load_study(toy.write_study(tmp_path)), workers=1)
    assert found.drawn == ()
    assert search.searched == 2
