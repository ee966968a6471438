"""Costs paid once lanes are known: the same optima as with all lanes enumerated beforehand."""

from __future__ import annotations

import random

import pytest
from explore import at_night, enough
from search_cases import EINSUMS, MATMUL, memory, random_workload, zero

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion import choice_programs as maker
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_fields import NO_DEFERRED, label_fields
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.exact.metric_terms import leaks_of
from tilewright.mapper.searches.program.program import most_deferred
from tilewright.mapper.searches.shared import mapspace_programs
from tilewright.mapper.searches.shared.known_structures import KnownStructures
from tilewright.mapper.workload.workload_loading import load_workload

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")
REUSE = ("Nothing", "input", "output", "weight", "weight | output", "All")


def grid(name: str, rng: random.Random, dims: str) -> list[str]:
    """Write a Container whose dimensions may reuse whatever."""
    lines = ["  - !Container", f"    name: {name}", "    spatial:"]
    for dim in dims:
        gated = ", power_gateable: true" if rng.random() < 0.15 else ""
        lines.append(
            f"    - {{name: {dim}, fanout: {rng.choice((2, 2, 4))},"
            f" may_reuse: {rng.choice(REUSE)}{gated}}}"
        )
    return lines


def space_of(seed: int, sizes: tuple[int, ...] = (2, 3, 4, 6)) -> Mapspace:
    """Return a random mapspace with several free dimensions above and below memories."""
    rng = random.Random(seed)
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All', rng, 50)
    two_levels = rng.random() < 0.3
    if two_levels:
        lines += grid("OUTER", rng, "x")
    if rng.random() < 0.7:
        lines += memory("BUF", str(rng.choice((96, 320, 1024))), "may_keep: All", rng, 5)
    lines += grid("INNER", rng, "x" if two_levels else "xy")
    if rng.random() < 0.8:
        rules = rng.choice(("keep: output", "keep: weight", "may_keep: All"))
        lines += memory("REG", str(rng.choice((16, 48, 128))), rules, rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    lines += [f"    actions: [{{name: compute, energy: 0.5, throughput: {rng.choice((1, 4))}}}]"]
    text = MATMUL if rng.random() < 0.6 else rng.choice(EINSUMS)
    workload = load_workload(random_workload(rng, text, sizes))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch("\n".join(lines) + "\n"), workload.scope(einsum))
    return Mapspace(einsum, flat, rng.choice(("default", "accelforge")))


def defers(space: Mapspace) -> bool:
    plain = label_fields(space.problem, leaks_of(space.flat, space.conventions))
    return most_deferred(space.problem, plain, space.templates) != NO_DEFERRED


def check(
    space: Mapspace, twin: Mapspace, objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the search of a mapspace with that of its twin, which defers no costs."""
    goal = Goal(objective)
    deferred = ExactSearch().find(space, goal, None)
    with monkeypatch.context() as patched:
        patched.setattr(mapspace_programs, "KNOWN", KnownStructures())
        patched.setattr(mapspace_programs, "most_deferred", lambda *problem: NO_DEFERRED)
        enumerated = ExactSearch().find(twin, goal, None)
    assert (deferred.best is None) == (enumerated.best is None)
    if deferred.best is None or enumerated.best is None:
        return
    assert deferred.proven
    for metric in (objective, goal.second):
        ours, theirs = (Goal(metric).value(b.energy, b.latency)
                        for b in (deferred.best, enumerated.best))  # fmt: skip
        assert ours == pytest.approx(theirs, rel=1e-9)
    assert deferred.lower_bound <= goal.value(deferred.best.energy, deferred.best.latency) * (
        1 + 1e-9
    )


@pytest.mark.usefixtures("compiled_once")
@pytest.mark.parametrize("seeds", [(0, 2), *at_night((4,), (3, 5, 6, 8))])
def test_deferred_costs_change_no_optimum(
    seeds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in seeds:
        space, twin = space_of(seed), space_of(seed)
        assert defers(space)
        check(space, twin, OBJECTIVES[seed % 3], monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_deferred_costs_change_no_optimum_of_many(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smaller sizes, one objective each, at most 256 templates."""
    compared = 0
    for seed in range(14 + 48 * block, 62 + 48 * block):
        space = space_of(seed, (2, 2, 3))
        if len(space.templates) <= 256 and defers(space):
            check(space, space_of(seed, (2, 2, 3)), OBJECTIVES[seed % 3], monkeypatch)
            compared += 1
    assert enough(compared, 12)


CHAIN = """
workload:
  rank_sizes: {M: 2, K: 2, N: 4, J: 2}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, j] = Y[m, n] * C[n, j]", renames: {input: Y, weight: C, output: Z}}
"""


def chip(reused: tuple[str, str]) -> str:
    """Write a machine with a grid of two free dimensions below the memory of what is exchanged."""
    rng = random.Random(str(reused))
    lines = ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All', rng, 50)
    lines += memory("BUF", "320", "may_keep: All", rng, 5)
    lines += ["  - !Container", "    name: GRID", "    spatial:"]
    lines += [
        f"    - {{name: {d}, fanout: 2, may_reuse: {t}}}" for d, t in zip("xy", reused, strict=True)
    ]
    lines += memory("REG", "48", "keep: weight, may_keep: All", rng, 1)
    lines += ["  - !Compute", "    name: MAC", *zero()]
    return "\n".join([*lines, "    actions: [{name: compute, energy: 0.5, throughput: 1}]"]) + "\n"


@pytest.mark.parametrize("reused", [("input", "output"), *at_night(("weight", "input"))])
def test_deferred_costs_change_no_fused_optimum(
    reused: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, workload = load_arch(chip(reused)), load_workload(CHAIN)
    deferred = search(arch, workload)
    with monkeypatch.context() as patched:
        patched.setattr(maker, "KNOWN_CHOICES", KnownStructures())
        patched.setattr(maker, "most_deferred", lambda *given: NO_DEFERRED)
        enumerated = search(arch, workload)
    assert deferred.certificate.kind == enumerated.certificate.kind == "optimal"
    assert deferred.certificate.value == pytest.approx(enumerated.certificate.value, rel=1e-9)
    assert deferred.statistics.templates < enumerated.statistics.templates
