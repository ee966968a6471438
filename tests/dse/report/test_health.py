"""Health cards, importance of knobs, and the smallest change, on designs with known answers."""

from __future__ import annotations

from types import SimpleNamespace

from tilewright.dse.report.health import chance_share, health_cards, importance, smallest_changes
from tilewright.dse.run.record import Objective, Trial
from tilewright.dse.study.design_space import Dimension, Space

SPACE = Space(
    (
        Dimension("arch.Buffer.size", (1, 2, 3), ordered=True),
        Dimension("arch.Lanes.fanout", (1, 2, 3), ordered=True),
    )
)
SPEC = SimpleNamespace(space=SPACE, objectives=(Objective("energy"),))


def trial(number, size, lanes, energy, status="feasible", **more):
    point = {"arch.Buffer.size": size, "arch.Lanes.fanout": lanes}
    return Trial(number=number, batch=0, batch_size=9, key=str(number), point=point, status=status,
                 metrics={} if energy is None else {"energy": energy}, **more)  # fmt: skip


def grid(energy_of):
    points = [(2, 2), *((a, b) for a in (1, 2, 3) for b in (1, 2, 3) if (a, b) != (2, 2))]
    return [
        trial(number, a, b, energy_of(a, b), baseline="reference" if number == 0 else None)
        for number, (a, b) in enumerate(points)
    ]


def cards(trials):
    return {card.title: card for card in health_cards(SPEC, trials)}


def test_a_knob_with_little_effect_is_named():
    trials = grid(lambda size, lanes: float(10 - lanes))
    assert importance(SPEC, trials) == {"energy": [0.0, 1.0]}
    some = [t for t in trials if t.number not in (3, 7)]  # sizes and lanes are not independent now
    assert importance(SPEC, some) == {"energy": [0.0, 1.0]}
    found = cards(some)
    assert found["Knobs with little effect"].words == "Buffer.size: under 1 % of the spread"
    assert "fanout at its largest value" in found["Edges of the space hit"].words
    assert found["Better than the reference"].level == "good"


def test_what_chance_alone_gives_a_knob():
    trials = grid(lambda size, lanes: float(size * lanes))
    assert chance_share(SPEC, trials) == 0.0  # all of the space
    assert chance_share(SPEC, trials[:5]) == 0.5  # three values, five designs
    assert chance_share(SPEC, trials[:1]) == 0.0


def test_the_largest_figures_have_shares_too():
    """Where the square of a figure would be infinite."""
    trials = grid(lambda size, lanes: 1e307 * (10 - lanes))
    assert importance(SPEC, trials) == {"energy": [0.0, 1.0]}


def test_the_smallest_change_keeps_the_gain():
    trials = grid(lambda size, lanes: 100.0 - 30 * lanes - size)
    (change,) = smallest_changes(SPEC, trials)
    assert change.of == 2
    assert [name for name, _ in change.knobs] == ["Lanes.fanout"]
    assert 0.9 <= change.share < 1


def test_no_gain_and_failures_warn():
    trials = [*grid(lambda size, lanes: 1.0 + (size - 2) ** 2 + (lanes - 2) ** 2),
              trial(9, 1, 1, None, "failed", reason="no memory")]  # fmt: skip
    found = cards(trials)
    assert found["Never better than the reference"].words == "energy"
    assert found["Not evaluated"].level == "warn"
