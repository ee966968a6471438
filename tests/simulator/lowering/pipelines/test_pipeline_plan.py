"""The plan of several Einsums as one program: turns, memory, colors, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from cascades import cascade_arch
from pipeline_cases import PipelineCase, example, pipeline_workload, plan_of_pipeline

from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.lowering.addresses import words_of


@pytest.mark.parametrize("turns", [1, 2, 8])
def test_turns_of_all_einsums(turns: int) -> None:
    plan = plan_of_pipeline(example("attention", turns))
    assert (plan.name, plan.turns, plan.peeled) == ("S+Top+E+Sum+P+Z", turns, False)


def test_tensors_lie_apart_and_what_passes_in_one_place() -> None:
    plan = plan_of_pipeline(example("attention", 2))
    places: dict[str, tuple[int, int]] = {}
    for part in plan.plans:
        for tensor in part.read.tensors:
            first = part.addresses.first_word[tensor.name]
            place = first, first + words_of(tensor, part.read)
            assert places.setdefault(tensor.name, place) == place
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(places.values())))
    assert max(end for _, end in places.values()) == plan.words


def test_chains_of_the_same_way_share_their_colors() -> None:
    plan = plan_of_pipeline(example("attention", 2))
    assert plan.colors.of("Sum") == plan.colors.of("Top")
    assert plan.colors.of("Z")["sum0a"] == plan.colors.of("Top")["sum0a"]
    assert plan.colors.of("Z")["out"] != plan.colors.of("S")["in_A"]
    assert len(plan.program().colors) == 5
    alone = sum(len(program.colors) for program in plan.programs.values())
    assert alone == 10


def changed(case: PipelineCase, einsum: str, change: Callable[[Node], Node]) -> Mapping:
    *above, last = case.mapping.nodes
    assert isinstance(last, Sequential)
    names = [e.name for e in case.workload.einsums]
    branches = [
        tuple(map(change, branch)) if name == einsum else branch
        for name, branch in zip(names, last.branches, strict=True)
    ]
    return Mapping((*above, replace(last, branches=tuple(branches))))


def refused(mapping: Mapping, case: PipelineCase) -> str:
    with pytest.raises(InfeasibleMapping) as error:
        plan_of_pipeline(case, mapping)
    assert error.value.instead
    return error.value.what


CASE = example("two layers", 4)


def test_elements_are_the_same_ones() -> None:
    fewer = changed(CASE, "G", lambda n: replace(n, tile_shape=16) if isinstance(n, Spatial) else n)
    assert "run on different elements" in refused(fewer, CASE)


def test_tiles_are_where_they_are_needed() -> None:
    other = changed(CASE, "Z", lambda n: replace(n, rank_variable="l", tile_shape=2)
                    if isinstance(n, Spatial) else n)  # fmt: skip
    assert "G stays in the elements, but Z needs other parts" in refused(other, CASE)


def test_two_buffers_are_refused() -> None:
    two = changed(CASE, "H", lambda n: replace(n, buffers=2) if isinstance(n, Storage)
                  and n.component == "SRAM" and n.tensors != ("B",) else n)  # fmt: skip
    with pytest.raises(InfeasibleMapping):
        plan_of_pipeline(CASE, two)


def test_an_own_loop_above_what_passes_is_refused() -> None:
    *above, last = CASE.mapping.nodes
    assert isinstance(last, Sequential)
    share, *rest = last.branches[1]
    branch = (share, Temporal("m", 1), *rest)
    branches = (last.branches[0], branch, last.branches[2])
    mapping = Mapping((*above, replace(last, branches=branches)))
    assert "a loop of G stands above" in refused(mapping, CASE)


def residual(second: int) -> Mapping:
    """S = A², Z = S + A on two columns; `second`: values of n in a turn of an own loop of Z."""

    def branch(einsum: str, *tensors: str, tile: int) -> tuple[Node, ...]:
        share = Spatial("n", 4, "X", "Grid")
        passed = Storage(("S",), "SRAM")
        loops = (Temporal("n", tile), Storage(tensors, "SRAM"), Temporal("m", 1), Temporal("n", 1))
        return (share, passed, *loops, ComputeNode(einsum, "Engine"))

    branches = (branch("S", "A", tile=4), branch("Z", "A", "Z", tile=second))
    return Mapping((Storage(("A", "Z"), "Host"), Sequential(branches, "Pipeline")))


def test_an_operand_of_two_einsums_has_the_same_tiles_in_both() -> None:
    workload = pipeline_workload("residual", (("m", 2), ("n", 8)), "")
    case = PipelineCase(cascade_arch(2, 1), workload, residual(4))
    run = execute(case.arch, workload, case.mapping)
    a = run.values["A"]
    np.testing.assert_allclose(run.values["Z"], a * a + a, rtol=1e-6)
    assert run.counts["S+Z/Host/A/read"] == 2 * a.size
    what = refused(residual(2), case)
    assert what == "S and Z read other tiles of A, or in another order of its ranks"
