"""Fronts and formulas of fused workloads against every fused mapping of small ones."""

from __future__ import annotations

import pytest
from explore import at_night, enough
from fused_cases import Case, opposed, random_case, random_deep_case
from fused_mappings import front_fused
from fused_owns import Subject
from memo import stored
from padded_cases import random_padded_case

from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.objective.objective_formula import formula_of
from tilewright.mapper.workload.errors import InfeasibleMapping

FORMULAS = ("energy * latency**2", "energy + 30 * latency", "max(energy, 9 * latency)")


def check(seed: int, case: Case = random_case) -> bool:
    """Compare the fronts and the least values; False if there are too many to enumerate."""
    arch, workload, conventions = opposed(seed, case)
    listed = stored(front_fused, Subject(arch, workload, conventions))
    if listed is None:
        return False
    if not listed:
        with pytest.raises(InfeasibleMapping):
            search(arch, workload, conventions=conventions, front=("energy", "latency"))
        return True
    text = FORMULAS[seed % 3]
    asked = ("energy", "latency")
    result = search(arch, workload, conventions=conventions, front=asked, objective=text)
    assert result.notes == ()
    assert result.front_proof is not None
    assert result.front_proof.whole
    found = [(point.score.energy, point.score.latency) for point in result.front]
    assert len(found) == len(listed), seed
    for mine, its in zip(found, listed, strict=True):
        assert mine == pytest.approx(its, rel=1e-9), seed
    least = min(formula_of(text, []).of_row(*point) for point in listed)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == pytest.approx(least, rel=1e-9)
    for place, objective in enumerate(asked):
        single = search(arch, workload, conventions=conventions, objective=objective)
        assert single.certificate.value == pytest.approx(min(p[place] for p in listed), rel=1e-9)
        score = single.best.score  # ties go to the other metric: the first and the last point
        assert (score.energy, score.latency) == pytest.approx(listed[-place], rel=1e-9), seed
    return True


@pytest.mark.parametrize("seed", [5, *at_night(0, 1, 2)])
def test_fused_front(seed: int) -> None:
    assert check(seed) or seed > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
def test_fused_front_above_registers(seed: int) -> None:
    assert check(seed, random_deep_case) or seed > 0


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_fused_front_of_many(block: int) -> None:
    assert enough(sum(check(2000 + seed) for seed in range(block * 10, block * 10 + 10)), 5)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(6))
def test_fused_front_above_registers_of_many(block: int) -> None:
    seeds = range(2000 + block * 10, 2010 + block * 10)
    assert enough(sum(check(seed, random_deep_case) for seed in seeds), 5)


@pytest.mark.parametrize("seed", [1, *at_night(2, 3)])
def test_fused_front_over_padded_tensors(seed: int) -> None:
    assert check(seed, random_padded_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(4))
def test_fused_front_over_padded_tensors_of_many(block: int) -> None:
    seeds = range(2000 + block * 10, 2010 + block * 10)
    assert enough(sum(check(seed, random_padded_case) for seed in seeds), 2)
