"""Mappings as values, and printed as loop nests."""

from __future__ import annotations

from collections.abc import Callable

from mapping_inputs import FUSED

from tilewright.mapper.mapping.mapping_file import load_mapping


def test_loop_nest_of_a_fused_mapping(golden: Callable[[str], None]) -> None:
    golden(str(load_mapping(FUSED)) + "\n")
