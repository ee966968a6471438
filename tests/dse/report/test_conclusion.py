"""The answer of a study in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.dse.report.conclusion import caution, census, compare, conclusion, highlights
from tilewright.dse.run.record import Trial
from tilewright.dse.study.study_loading import load_study


@pytest.mark.parametrize(
    ("value", "reference", "goal", "words"),
    [
        (1.0, 2.6, "minimize", ("2.6× lower", True)),
        (112.0, 100.0, "minimize", ("12 % higher", False)),
        (99.9, 100.0, "minimize", ("0.1 % lower", True)),
        (3.0, 1.0, "maximize", ("3× higher", True)),
        (5.0, 5.0, "minimize", ("the same", None)),
        (30727.0, 30726.0, "minimize", ("under 0.1 % higher", False)),
    ],
)
def test_compare(value, reference, goal, words):
    assert compare(value, reference, goal) == words


def trial(number, status="feasible", same_as=None, baseline=None, **metrics):
    point = {
        "arch.variables.GridX": 2**number,
        "arch.variables.GridY": 1,
        "mapping.up.reduction": "chain",
        "mapping.up.tile": 64,
    }
    reason = "k = 3 does not divide" if status == "infeasible" else None
    return Trial(
        number=number, batch=0, batch_size=8, key=str(number), point=point, status=status,
        metrics=metrics,        reason=reason, same_as=same_as, baseline=baseline,
    )  # fmt: skip


def test_the_census_counts_each_design_once():
    trials = [
        trial(0, energy=1.0),
        trial(1, energy=2.0),
        trial(2, energy=2.0, same_as=1),
        trial(3, "infeasible"),
        trial(4, "violates", energy=1.0),
        trial(5, "error"),
    ]
    assert census(trials, 1) == (
        "5 different designs were tried in 6 trials: 2 can be built within the limits, 1 beyond"
        " a limit, 1 cannot be built, 1 hit a defect of the model."
        " 1 of them is beaten by no other."
    )
    assert census(trials[3:4], 0).endswith("0 can be built within the limits, 1 cannot be built.")


def test_the_conclusion_compares_with_the_first_baseline(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path))
    trials = [
        trial(0, baseline="reference", energy=4e-6, cycles=1000.0),
        trial(1, energy=1e-6, cycles=1200.0),
        trial(2, energy=2e-6, cycles=800.0),
        trial(3, energy=1.5e-6, cycles=900.0),
    ]
    best = {design.title: (design.trial.number, design.comparison, design.better)
            for design in highlights(spec, trials)}  # fmt: skip
    assert best == {
        "Lowest energy": (1, "4× lower", True),
        "Lowest cycles": (2, "20 % lower", True),
        # Scaled to the spans of the front, trial 3 is (0.5, 0.25) from the best of both.
        "Balanced": (3, "energy 2.67× lower, cycles 10 % lower", None),
    }
    text = conclusion(spec, trials)
    assert (
        "  Lowest energy: 1 µJ (4× lower than the reference), trial 1\n    GridX 2, the rest"
        in text
    )
    assert "  Balanced: 1.5 µJ · 900 cycles (against the reference: energy 2.67× lower" in text


def test_without_a_feasible_design_the_reasons_are_given(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path))
    text = conclusion(spec, [trial(0, "infeasible"), trial(1, "infeasible")])
    assert text.endswith("No design is feasible. The reasons:\n  2 × k = 3 does not divide")
    assert highlights(spec, [trial(0, "infeasible")]) == []


def test_a_comparison_of_mappings_far_from_their_bounds_is_put_in_doubt(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path))
    sound = [
        replace(trial(0, energy=4e-6, cycles=1000.0), proof="optimal", gap=0.0),
        replace(trial(1, energy=1e-6, cycles=1200.0), proof="bounded", gap=0.1),
    ]
    assert caution(spec, sound) == ""
    far = [sound[0], replace(sound[1], gap=4.0)]
    assert caution(spec, far).startswith("Beware: mappings of these designs are not proven optimal")
    assert "with gaps of up to 5 x: differences may come from the search" in caution(spec, far)
    assert "Beware: " in conclusion(spec, far)
    beaten = [*sound, replace(trial(2, energy=5e-6, cycles=1300.0), proof="bounded", gap=4.0)]
    assert caution(spec, beaten) == ""  # no comparison names it
