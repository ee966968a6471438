"""Fronts and formulas with the usage of memories against every fused mapping of small workloads."""

from __future__ import annotations

import numpy as np
import pytest
from backed_cases import random_backed_case
from deep_cases import random_dealt_case, random_exchanged_case
from explore import at_night, enough
from figures import Figures, table
from fused_cases import (
    Case,
    opposed,
    random_case,
    random_deep_case,
    random_spread_case,
    random_wide_case,
    random_window_case,
)
from fused_lists import INNER, LOW, OUTER
from fused_mappings import rows_fused
from fused_owns import Subject
from memo import stored_figures

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.objective.objective_formula import formula_of
from tilewright.mapper.workload.workload import Workload

FRONTS = (
    ("energy", "usage.BUF"),
    ("energy", "latency", "usage"),
    ("usage.BUF", "usage.DRAM", "energy"),
    ("latency", "usage.BUF"),
    ("edp", "usage.BUF", "usage.DRAM"),
)
FORMULAS = (
    "energy * usage.BUF",
    "energy + 40 * usage.BUF",
    "usage.BUF + usage.DRAM",
    "max(energy, 30 * usage.BUF) * latency",
    "latency * (1 + usage.DRAM)",
    "energy * sqrt(usage.BUF) + latency * usage.DRAM",
)
DEEP_FRONTS = (("energy", "usage"), ("energy", "latency", "usage.REG"), ("usage", "usage.DRAM"))
DEEP_FORMULAS = ("energy * usage.REG", "usage.BUF + 5 * usage.REG + energy / 100")


def check_front(
    subject: tuple[Arch, Workload, str], asked: tuple[str, ...], listed: list[Figures]
) -> None:
    arch, workload, conventions = subject
    result = search(arch, workload, conventions=conventions, front=asked)
    assert result.notes == ()
    assert result.front_proof is not None
    assert result.front_proof.whole
    names = result.front_proof.metrics
    scores = [[point.score.metric(name) for name in names] for point in result.front]
    found = np.array(scores).reshape(len(scores), len(names))
    every = table(listed, names)
    wanted = every[undominated(every)]
    assert found == pytest.approx(wanted, rel=1e-9), (asked, len(found), len(wanted))


def check_formula(subject: tuple[Arch, Workload, str], text: str, listed: list[Figures]) -> None:
    arch, workload, conventions = subject
    result = search(arch, workload, conventions=conventions, objective=text)
    assert result.notes == ()
    assert result.certificate.kind == "optimal"
    formula = formula_of(text, (OUTER, INNER, LOW))
    rows = table(listed, ("energy", "latency", *(f"usage.{m}" for m in formula.memories)))
    values = formula.value(rows)
    value = result.certificate.value
    assert value == pytest.approx(values.min(), rel=1e-9), text
    ties = rows[values <= values.min() * (1 + 1e-12)]
    assert result.best.score.energy == pytest.approx(ties[:, 0].min(), rel=1e-9), text


def is_bounded(subject: tuple[Arch, Workload, str]) -> bool:
    """Tell whether more than two Einsums may hold one tensor in more than one width: refused."""
    arch, workload, conventions = subject
    notes = search(arch, workload, conventions=conventions, objective="usage.BUF").notes
    return any("three Einsums that may share loops use" in note for note in notes)


def check(seed: int, case: Case = random_case, limit: int = 4000) -> bool:
    """Compare fronts and least values; False if there are too many to enumerate, or none."""
    exchanged = case in (random_exchanged_case, random_dealt_case)
    deep = case is random_deep_case or exchanged
    subject = opposed(seed, case)
    if exchanged:  # the search counts what is exchanged in registers by default only
        subject = (*subject[:2], "default")
    if case is random_wide_case and is_bounded(subject):
        return False
    listed = stored_figures(
        rows_fused, Subject(*subject, deep=exchanged), limit, memories=(OUTER, INNER, LOW)
    )
    if not listed:
        return False
    fronts, formulas = (DEEP_FRONTS, DEEP_FORMULAS) if deep else (FRONTS, FORMULAS)
    check_front(subject, fronts[seed % len(fronts)], listed)
    check_formula(subject, formulas[seed % len(formulas)], listed)
    return True


@pytest.mark.parametrize("seed", [6, *at_night(2)])
def test_usage_of_fused_mappings(seed: int) -> None:
    assert check(seed)


@pytest.mark.nightly
def test_usage_of_fused_mappings_above_registers() -> None:
    assert check(1, random_deep_case, 1500)


@pytest.mark.parametrize("seed", [2, *at_night(3)])
def test_usage_of_fused_mappings_exchanged_in_two_memories(seed: int) -> None:
    assert check(seed, random_exchanged_case, 200)


@pytest.mark.parametrize("seed", [2, *at_night(0)])
def test_usage_of_fused_mappings_exchanged_below_lanes_under_a_memory(seed: int) -> None:
    assert check(seed, random_dealt_case, 200)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("case", [random_exchanged_case, random_dealt_case])
def test_usage_of_what_is_exchanged_in_two_memories_of_many(block: int, case: Case) -> None:
    seeds = range(3000 + block * 10, 3010 + block * 10)
    assert enough(sum(check(seed, case, 2000) for seed in seeds), 2)


@pytest.mark.parametrize("seed", [4, *at_night(1, 6, 11)])
def test_usage_of_fused_mappings_where_only_the_buffer_has_a_tensor(seed: int) -> None:
    assert check(seed, random_backed_case, 1500)


@pytest.mark.parametrize("seed", [6, *at_night(7)])
def test_usage_of_fused_mappings_below_lanes(seed: int) -> None:
    assert check(seed, random_spread_case, 1500)


def test_usage_where_einsums_see_a_tensor_in_different_widths() -> None:
    assert check(38, random_wide_case, 1000)


@pytest.mark.parametrize("seed", [7, *at_night(5)])
def test_usage_where_einsums_see_a_tensor_through_different_windows(seed: int) -> None:
    assert check(seed, random_window_case, 400)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("case", [random_wide_case, random_window_case])
def test_usage_where_einsums_see_many_tensors_differently(block: int, case: Case) -> None:
    seeds = range(3000 + block * 10, 3010 + block * 10)
    assert enough(sum(check(seed, case, 10_000) for seed in seeds), 2)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_usage_of_many_fused_mappings(block: int) -> None:
    seeds = range(3000 + block * 10, 3010 + block * 10)
    assert enough(sum(check(seed, limit=30_000) for seed in seeds), 4)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_usage_of_many_fused_mappings_above_registers(block: int) -> None:
    seeds = range(3000 + block * 10, 3010 + block * 10)
    assert enough(sum(check(seed, random_deep_case, 30_000) for seed in seeds), 4)
