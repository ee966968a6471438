"""Several workloads as one: which metrics add up, which are a mean, of which the largest counts."""

from __future__ import annotations

import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.models.weighted import WeightedEvaluator
from tilewright.dse.study.study import StudyInput


class Fixed:
    """A model with one outcome, or one error."""

    def __init__(self, outcome):
        self.outcome = outcome
        self.asked = 0

    def evaluate(self, point):
        self.asked += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def weighted(*outcomes, weights=(1.0, 3.0)):
    names = ("bert", "gpt")[: len(outcomes)]
    inputs = tuple(
        StudyInput(f"{name}.yaml", {}, weight=weight, name=name)
        for name, weight in zip(names, weights, strict=False)
    )
    return WeightedEvaluator(tuple(Fixed(outcome) for outcome in outcomes), inputs)


def outcome(energy=1.0, latency=2.0, **fields):
    metrics = {"energy": energy, "latency": latency, "edp": energy * latency, "area": 5.0}
    return Outcome({**metrics, **fields.pop("metrics", {})}, **fields)


def test_sums_by_weight_and_their_product():
    """edp is the product of the sums, not the sum of products: 1 * 2 + 3 * (4 * 5) would be 62."""
    metrics = weighted(outcome(1.0, 2.0), outcome(4.0, 5.0)).evaluate({}).metrics
    assert metrics["energy"] == 1.0 + 3 * 4.0
    assert metrics["latency"] == 2.0 + 3 * 5.0
    assert metrics["edp"] == 13.0 * 17.0
    assert metrics["area"] == 5.0


def test_the_largest_counts_of_what_is_there_once():
    small, large = outcome(metrics={"usage.B": 0.25}), outcome(metrics={"usage.B": 0.75})
    assert weighted(small, large).evaluate({}).metrics["usage.B"] == 0.75


def test_utilization_is_the_mean_over_the_time():
    """2 s at 0.5, then three times 4 s at 1: (1 + 12) of 14 s."""
    first = outcome(latency=2.0, metrics={"utilization": 0.5})
    second = outcome(latency=4.0, metrics={"utilization": 1.0})
    assert weighted(first, second).evaluate({}).metrics["utilization"] == pytest.approx(13 / 14)


def test_metrics_of_each_workload_stand_behind_its_name():
    metrics = weighted(outcome(1.0), outcome(4.0)).evaluate({}).metrics
    assert (metrics["bert.energy"], metrics["gpt.energy"]) == (1.0, 4.0)
    assert metrics["gpt.edp"] == 8.0


@pytest.mark.parametrize(
    ("proofs", "proof"),
    [(("optimal", "optimal"), "optimal"), (("optimal", "bounded"), "bounded"),
     (("bounded", None), None), ((None, None), None)],
)  # fmt: skip
def test_together_the_weakest_proof_counts(proofs, proof):
    joined = weighted(*(outcome(proof=each) for each in proofs)).evaluate({})
    assert joined.proof == proof


def test_together_the_largest_gap_counts_and_all_must_be_verified():
    joined = weighted(outcome(gap=0.1, verified=True), outcome(gap=0.0, verified=False)).evaluate(
        {}
    )
    assert (joined.gap, joined.verified) == (0.1, False)
    joined = weighted(outcome(gap=0.1, verified=True), outcome()).evaluate({})
    assert (joined.gap, joined.verified) == (None, None)


def test_the_first_infeasible_workload_ends_it():
    model = weighted(Outcome({}, reason="too large"), outcome())
    assert model.evaluate({}).reason == "too large"
    assert model.models[1].asked == 0


def test_an_error_says_of_which_workload_it_is():
    with pytest.raises(TilewrightError, match=r"^gpt: no such memory") as caught:
        weighted(outcome(), TilewrightError("no such memory", instead="Buffer")).evaluate({})
    assert caught.value.what == "gpt: no such memory"
    assert caught.value.instead == "Buffer"


def test_shares_of_energy_add_up_by_weight():
    first = outcome(1.0, breakdown={"energy": {"DRAM": 0.75, "B": 0.25}, "area": {"B": 5.0}})
    second = outcome(4.0, breakdown={"energy": {"DRAM": 4.0}, "area": {"B": 5.0}})
    joined = weighted(first, second).evaluate({})
    assert joined.breakdown["energy"] == {"DRAM": 0.75 + 3 * 4.0, "B": 0.25}
    assert sum(joined.breakdown["energy"].values()) == joined.metrics["energy"]
    assert joined.breakdown["area"] == {"B": 5.0}
