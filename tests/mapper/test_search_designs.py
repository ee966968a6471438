"""Searches of designs with networks, distributed memories and several computes."""

from __future__ import annotations

import pytest
from buffered_design import ARCH, chain
from explore import at_night

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.program.program import TemplateCompiler, most_deferred

NETWORK = ARCH.replace(
    "  - !Container\n    name: PE\n    spatial: [{name: x, fanout: 8}]\n",
    "  - !Container\n    name: PE\n    spatial: [{name: x, fanout: 8}]\n"
    "  - !Network\n    name: NOC\n    topology: mesh\n    total_latency: 0\n"
    "    actions: [{name: hop, energy: 1, throughput: inf}]\n",
)
GRID = ARCH.replace(
    "  - !Container\n    name: PE\n    spatial: [{name: x, fanout: 8}]\n",
    "  - !Network\n    name: NOC\n"
    "    actions: [{name: hop, energy: 1, latency: 3, throughput: 2}]\n"
    "  - !Container\n    name: PE\n"
    "    spatial: [{name: x, fanout: 4}, {name: y, fanout: 3, may_reuse: input}]\n",
)
SPREAD = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {keep: All}
    actions: [{name: read, energy: 100, throughput: 16}, {name: write, energy: 110, throughput: 8}]
  - !Array
    name: GRID
    spatial: [{name: x, fanout: 4}]
    nodes:
    - !Memory
      name: BUF
      size: 1024
      spatial: [{name: x, fanout: 2}]
      actions: [{name: read, energy: 5, throughput: 64}, {name: write, energy: 6, throughput: 64}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
MESH = NETWORK.replace(
    "name: NOC\n    topology", "name: NOC\n    spatial: [{name: y, fanout: 2}]\n    topology"
)


def test_networks_are_searched_exactly() -> None:
    result = search(load_arch(MESH), chain(16, 16, m=16))
    assert result.certificate.kind == "optimal"
    assert result.statistics.evaluations == 0
    assert "spatial loops in the order of the file" in result.certificate.scope
    free = search(
        load_arch(MESH.replace("hop, energy: 1,", "hop, energy: 0,")), chain(16, 16, m=16)
    )
    assert free.certificate.value < result.certificate.value


def test_distributed_memories_are_searched_exactly() -> None:
    result = search(load_arch(SPREAD), chain(720, 720, m=720))
    assert result.statistics.evaluations == 0
    assert result.certificate.kind == "optimal"
    one = SPREAD.replace("spatial: [{name: x, fanout: 2}]", "spatial: [{name: x, fanout: 1}]")
    assert (
        search(load_arch(one), chain(720, 720, m=720)).best.score.energy > result.best.score.energy
    )


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_each_objective_takes_the_best_compute_of_a_fork(conventions: str) -> None:
    """DSP computes fast and dear beside the lanes: the better of two searches of one compute."""
    fork = (
        "  - !Fork\n    nodes:\n    - !Compute\n      name: DSP\n"
        "      actions: [{name: compute, energy: 400, throughput: 1000}]\n"
    )
    slow = ARCH.replace("energy: 0.5, throughput: 1}", "energy: 0.5, throughput: 0.01}")
    design = load_arch(slow.replace("  - !Container", fork + "  - !Container"))
    work = chain(8, 12, m=6)
    (einsum,) = work.einsums
    flats = flatten(design, work.scope(einsum))
    assert sorted(flat.compute.name for flat in flats) == ["DSP", "MAC"]
    used = set()
    for objective, second in (("energy", "latency"), ("latency", "energy"), ("edp", "energy")):
        goal = Goal(objective)  # type: ignore[arg-type]
        each = [ExactSearch().find(Mapspace(einsum, f, conventions), goal, None) for f in flats]
        values = [
            (found.best.value(goal), found.best.value(second))  # type: ignore[arg-type]
            for found in each
            if found.best is not None
        ]
        result = search(design, work, objective=objective, conventions=conventions)
        assert len(values) == 2
        assert result.certificate.kind == "optimal"
        assert result.certificate.value == pytest.approx(min(values)[0], rel=1e-12)
        assert result.best.score.metric(second) == pytest.approx(min(values)[1], rel=1e-12)
        used.add(str(result.best.mapping).rstrip().rsplit(" ", 1)[-1])
    assert used == {"DSP", "MAC"}


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
def test_lanes_below_a_network_are_chosen_in_the_program(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same optimum as with lanes enumerated outside of it, where hops know them."""
    design, work = load_arch(GRID), chain(4, 3, m=2)
    (flat,) = flatten(design, work.scope(work.einsums[0]))
    space = Mapspace(work.einsums[0], flat, "default")
    owed = most_deferred(space.problem, label_fields(space.problem, ()), space.templates)
    compiler = TemplateCompiler(space.problem, label_fields(space.problem, (), deferred=owed))
    assert all(len(list(compiler.programs(template))) <= 1 for template in space.templates)
    inside = ExactSearch().find(space, Goal(objective), None)
    monkeypatch.setattr(
        "tilewright.mapper.searches.program.program.open_network_charge_sites", lambda *_: []
    )
    outside = ExactSearch().find(space, Goal(objective), None)
    assert inside.best is not None
    assert outside.best is not None
    assert inside.lower_bound == pytest.approx(outside.lower_bound, rel=1e-12)
    assert MappingScorer(space).verified(inside.best).value(objective) == inside.lower_bound
