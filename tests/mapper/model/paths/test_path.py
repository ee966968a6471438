"""Paths of Einsums through a mapping: steps, numbers of nodes, splits."""

from __future__ import annotations

import pytest
from running_example import path_of

from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Sequential, Storage, Temporal
from tilewright.mapper.model.paths.path import Hold, Split, keep, paths_of, restrict
from tilewright.mapper.workload.errors import MappingError


def held(path, numbers=True):
    return [
        (step.tensor, step.component) if isinstance(step, Hold) else step.rank_variable
        for step in path.steps
    ]


def test_each_tensor_of_a_storage_is_a_step() -> None:
    path = path_of()
    assert (path.einsum, path.component) == ("Z", "MAC")
    assert held(path) == [
        ("A", "DRAM"), ("B", "DRAM"), ("Z", "DRAM"), "m", ("A", "BUF"), "n", "k", "m",
    ]  # fmt: skip
    assert path.origins == (0, 0, 0, 1, 2, 3, 4, 5)  # numbers of the nodes
    assert path.end == 6  # the Compute
    assert [path.where(place).line for place in (0, 3, None)] == [3, 4, 9]


FUSED = Mapping(
    (
        Storage(("A", "Z"), "DRAM"),
        Temporal("m", 2, names=(("Z", "p"),)),
        Storage(("Y",), "BUF"),
        Sequential(
            (
                (Temporal("m", 1), ComputeNode("Y", "MAC")),
                (Storage(("Z",), "BUF"), Temporal("p", 1), ComputeNode("Z", "MAC")),
            )
        ),
    )
)


def test_branches_share_the_nodes_above_and_their_numbers() -> None:
    first, second = paths_of(FUSED)
    assert first.origins == (0, 0, 1, 2, 4)
    assert second.origins == (0, 0, 1, 2, 6, 7)
    assert (first.end, second.end) == (5, 8)
    assert first.splits == (Split(number=3, branch=0, position=4),)
    assert second.splits == (Split(number=3, branch=1, position=4),)
    assert held(first)[2:] == ["m", ("Y", "BUF"), "m"]
    assert held(second)[2:] == ["p", ("Y", "BUF"), ("Z", "BUF"), "p"]  # the name that Z knows
    assert first.where() is None  # written by nobody


def test_steps_are_left_out_with_their_numbers() -> None:
    first, second = paths_of(FUSED)
    shorter = restrict(first, frozenset({"A", "Y"}))
    assert held(shorter) == [("A", "DRAM"), "m", ("Y", "BUF"), "m"]
    assert shorter.origins == (0, 1, 2, 4)
    assert shorter.splits == (Split(number=3, branch=0, position=3),)
    assert restrict(first, frozenset("AYZ")) is first
    assert keep(second, [2, 5]).splits == (Split(number=3, branch=1, position=1),)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ((Storage(("A",), "DRAM"),), "has to end in a Compute or a Sequential"),
        ((), "has to end in a Compute or a Sequential"),
        ((ComputeNode("Z", "MAC"), Temporal("m", 1)), "nothing may follow a Compute"),
        (
            (Sequential(((ComputeNode("Z", "MAC"),),)), ComputeNode("Z", "MAC")),
            "nothing may follow a Sequential",
        ),
    ],
)
def test_lists_that_do_not_end_are_refused(nodes, words) -> None:
    with pytest.raises(MappingError, match=words) as caught:
        paths_of(Mapping(nodes))
    assert caught.value.instead


NESTED = Mapping(
    (
        Storage(("A", "Z", "X"), "DRAM"),
        Temporal("m", 2),
        Sequential(
            (
                (
                    Storage(("X", "A"), "BUF"),
                    Temporal("n", 1, names=(("Y", "k"),)),
                    Sequential((
                        (ComputeNode("X", "MAC"),),
                        (Storage(("Y",), "BUF"), ComputeNode("Y", "MAC")),
                    )),
                ),
                (Storage(("Z",), "BUF"), Temporal("p", 1), ComputeNode("Z", "MAC")),
            )
        ),
    )
)  # fmt: skip


@pytest.mark.parametrize("mapping", [FUSED, NESTED])
def test_paths_of_some_tensors_are_those_of_all_without_the_others(mapping) -> None:
    own = {"X": ("X", "Z"), "Y": ("A", "Y"), "Z": ("Z",)}
    chosen = paths_of(mapping, lambda name: own[name])
    assert chosen == tuple(restrict(p, frozenset(own[p.einsum])) for p in paths_of(mapping))
    assert any(split.position for path in chosen for split in path.splits)
