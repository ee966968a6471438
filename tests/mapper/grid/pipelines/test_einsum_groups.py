"""What a Pipeline of a mapping on a grid means for each Einsum, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_cases import PipelineCase, example, pipeline_workload

from tilewright.arch.files.source import load_document
from tilewright.mapper.grid.grid import Grid, grid_of
from tilewright.mapper.grid.pipelines.einsum_groups import einsum_groups, in_sequence
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.mapped_workload import grid_path

CASE = example("two layers", 4)


def grid() -> Grid:
    return grid_of(grid_path(CASE.arch, CASE.workload, CASE.workload.einsums[0]))


def lines(nodes: tuple[Node, ...]) -> list[str]:
    return str(Mapping(nodes)).splitlines()


def test_what_is_whole_stands_above_the_turns() -> None:
    (group,) = einsum_groups(CASE.mapping, CASE.workload, grid())
    assert group.is_pipeline
    assert group.passed == {"H", "G"}
    assert list(group.mappings) == ["H", "G", "Z"]
    assert lines(group.mappings["Z"].nodes)[:6] == [
        "[Host] Z",
        "parfor m         tile 8 over Grid.Y",
        "  parfor n       tile 8 over Grid.X",
        "    [SRAM] C",
        "    for m        tile 2",
        "      [SRAM] G",
    ]


def test_a_pipeline_is_written_to_a_file_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(dump_mapping(CASE.mapping))
    assert "- !Pipeline" in path.read_text()
    assert load_mapping(path) == CASE.mapping


def test_in_sequence_what_passes_is_whole() -> None:
    groups = einsum_groups(CASE.mapping, CASE.workload, grid())
    mapping = in_sequence(groups, grid())
    again = einsum_groups(mapping, CASE.workload, grid())
    assert [list(group.mappings) for group in again] == [["H"], ["G"], ["Z"]]
    assert lines(again[0].mappings["H"].nodes)[2:6] == [
        "  parfor n       tile 8 over Grid.X",
        "    [SRAM] B",
        "    [SRAM] H (added by chain)",
        "    for m        tile 2",
    ]


def test_names_of_a_loop_are_those_of_each_einsum() -> None:
    workload = pipeline_workload("two layers", (("k", 4), ("l", 4), ("m", 4), ("n", 4)), "B | C")
    other = PipelineCase(CASE.arch, workload, _changed(lambda n: replace(n, names=(("Z", "m"),))
                         if isinstance(n, Temporal) else n))  # fmt: skip
    (group,) = einsum_groups(other.mapping, workload, grid())
    loop = next(n for n in group.mappings["Z"].nodes if isinstance(n, Temporal))
    assert (loop.rank_variable, loop.names) == ("m", ())


def _changed(change: Callable[[Node], Node]) -> Mapping:
    """The example's mapping with other nodes above its Pipeline."""
    *above, last = CASE.mapping.nodes
    return Mapping((*map(change, above), last))


def _branches(change: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Mapping:
    """The example's mapping with other branches."""
    *above, last = CASE.mapping.nodes
    assert isinstance(last, Sequential)
    return Mapping((*above, replace(last, branches=tuple(map(change, last.branches)))))


def refused(mapping: Mapping, workload: Workload = CASE.workload) -> str:
    with pytest.raises((InfeasibleMapping, MappingError)) as error:
        einsum_groups(mapping, workload, grid())
    assert error.value.instead
    return error.value.what


def test_a_sequential_below_loops_is_no_pipeline() -> None:
    *above, last = CASE.mapping.nodes
    assert isinstance(last, Sequential)
    mapping = Mapping((*above, replace(last, kind="Sequential")))
    assert "loops stand above several Einsums of a Sequential" in refused(mapping)


def test_two_loops_above_are_refused() -> None:
    *above, last = CASE.mapping.nodes
    mapping = Mapping((*above, Temporal("m", 1), last))
    assert "2 loops in time stand above a Pipeline" in refused(mapping)


def test_a_loop_that_an_einsum_lacks_is_refused() -> None:
    mapping = _changed(lambda n: Temporal("k", 4) if isinstance(n, Temporal) else n)
    assert "a loop over k stands above G, which has no such rank variable" in refused(mapping)


def test_shares_of_the_variable_of_the_turns_stand_above_them() -> None:
    def turned(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        return (Spatial("m", 1, "X", "Grid"), *nodes)

    assert "elements share m below the loop of a Pipeline" in refused(_branches(turned))


def test_what_passes_is_in_no_memory_outside() -> None:
    mapping = _changed(
        lambda n: replace(n, tensors=(*n.tensors, "G")) if isinstance(n, Storage) else n
    )
    assert "G passes from Einsum to Einsum of a Pipeline, and stands in Host" in refused(mapping)


def test_nothing_else_reads_what_passes() -> None:
    workload = example("attention", 1).workload
    first, second, *others = (_plain(e.name, *e.tensors) for e in workload.einsums)
    pipeline = (Sequential((first, second), "Pipeline"),)
    mapping = Mapping((Sequential((pipeline, *others)),))
    what = refused(mapping, workload)
    assert what == "E uses S, of which a Pipeline without it keeps one tile"


def test_a_pipeline_may_be_a_part_of_a_workload() -> None:
    workload = example("attention", 1).workload
    *few, last = (_plain(e.name, *e.tensors) for e in workload.einsums)
    mapping = Mapping((Sequential(((Sequential(tuple(few), "Pipeline"),), last)),))
    groups = einsum_groups(mapping, workload, grid())
    assert [group.is_pipeline for group in groups] == [True, False]
    assert groups[0].passed == {"S", "Top", "E", "Sum"}


def _plain(einsum: str, *tensors: str) -> tuple[Node, ...]:
    return (Storage(tensors, "SRAM"), ComputeNode(einsum, "Engine"))


def test_an_einsum_that_passes_nothing_is_refused() -> None:
    text = (
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 32}\n  einsums:\n"
        '  - "S[m] = square(A[m])"\n  - "Z[m] = square(B[m])"\n'
    )
    workload = load_workload(load_document("apart.yaml", text=text))
    branches = (_plain("S", "A", "S"), _plain("Z", "B", "Z"))
    mapping = Mapping((Storage(("A", "B", "S", "Z"), "Host"), Sequential(branches, "Pipeline")))
    assert "passes nothing to another Einsum" in refused(mapping, workload)


def test_a_missing_einsum_is_named() -> None:
    workload = pipeline_workload("elementwise", (("m", 4), ("n", 4)), "")
    mapping = Mapping((Storage(("A",), "Host"), *_plain("S", "A", "S")))
    assert "computes no Einsum T" in refused(mapping, workload)
