"""Mapping files: written and read back, broken ones refused with their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapping_inputs import ARCH, FUSED, GOOD, WORKLOAD, mapping

from tilewright.arch.errors import SpecError
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping

NAMES = st.one_of(
    st.sampled_from(
        ["m", "n", "y", "no", "null", "GlobalBuffer", "1e3", "a: b", "x'\"", "é", "0x1"]
    ),
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6),
)


TILES = st.integers(1, 2**40)


LOOPS = st.one_of(
    st.builds(
        Storage,
        st.lists(NAMES, min_size=1, max_size=3).map(tuple),
        NAMES,
        st.booleans(),
        st.integers(1, 2),
        st.sampled_from(["", "tree", "all_reduce(chain)", "all_reduce(two_phase(12))"]),
    ),
    st.builds(Temporal, NAMES, TILES, st.none() | TILES),
    st.builds(Spatial, NAMES, TILES, NAMES, NAMES),
)


ENDS = st.recursive(
    st.builds(ComputeNode, NAMES, NAMES),
    lambda inner: st.builds(
        Sequential,
        st.lists(
            st.tuples(st.lists(LOOPS, max_size=2), inner).map(lambda pair: (*pair[0], pair[1])),
            min_size=1,
            max_size=3,
        ).map(tuple),
        st.sampled_from(["Sequential", "Pipeline", "Split"]),
    ),
    max_leaves=4,
)


MAPPINGS = st.tuples(st.lists(LOOPS, max_size=4), ENDS).map(
    lambda pair: Mapping((*pair[0], pair[1]))
)


@given(MAPPINGS)
def test_what_is_written_reads_back_the_same(mapping: Mapping) -> None:
    assert load_mapping(dump_mapping(mapping)) == mapping


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("!Temporal {rank_variable: n", "!Temporl {rank_variable: n", "is called !Temporl"),
        ("tile_shape: 2", "tile_shape: 0", "at least 1"),
        ("tile_shape: 2", "tile_shape: two", "whole number"),
        ("rank_variable: n", "rank: n", "rank"),
        ("mapping:", "maping:", "holds no mapping"),
        ("- !Compute {einsum: Z, component: MAC}", "- !Temporal {rank_variable: m, tile_shape: 1}",
         "one Compute or Sequential, at its end"),
        ("!Storage {tensors: [Y], component: BUF}", "{tensors: [Y]}", "carries a tag"),
        ("{tensors: [Y], component: BUF}",
         "{tensors: [Y], component: BUF, binding: [{rank_variable: m}]}",
         "binding of a tensor to places of a distributed memory is not supported"),
    ],
)  # fmt: skip
def test_broken_files_are_refused_with_their_place(old: str, new: str, what: str) -> None:
    assert old in FUSED
    with pytest.raises(SpecError, match=what) as caught:
        load_mapping(FUSED.replace(old, new))
    assert caught.value.where is not None
    assert caught.value.where.line is not None


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_a_toll_is_written_as_one_and_read_back(conventions: str) -> None:
    through = mapping(GOOD.replace("Storage {tensors: [A], component: BUF}",
                                   "Toll {tensors: [A], component: LINK}"))  # fmt: skip
    text = dump_mapping(through)
    assert "- !Toll {tensors: [A], component: LINK}" in text
    assert load_mapping(text) == through
    score = evaluate(ARCH, WORKLOAD, through, conventions)
    assert score.actions["Z/LINK/A/read"] == 24
