"""Searches of an option over families that fit different memories share what they have shown."""

from __future__ import annotations

from math import inf

import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of
from tilewright.simulator.search.paths.option import Option

NAMES = ("two products", "normalized rows", "smoothing", "elementwise chain")


def options_of(name: str) -> list[Option]:
    """The options with families of several sizes."""
    paths = cascade_of(cascade_arch(2, 2), cascade_workload(name), GridRequest())
    options = (option for of_einsum in paths.options for option in of_einsum)
    return [option for option in options if len(sizes_of(option)) > 1]


def sizes_of(option: Option) -> list[int]:
    return sorted({option.space.tile_words(family) for family in option.families})


def test_a_bound_over_more_families_holds_for_fewer() -> None:
    """The narrow search has the wide one's bound, and its own least value is not below it."""
    raised = 0
    for option in (option for name in NAMES for option in options_of(name)[:3]):
        least, *_, most = sizes_of(option)
        wide, narrow = option.search(most), option.search(least)
        assert wide is not None
        assert narrow is not None
        assert narrow is not wide
        before = narrow.bound
        assert option.bound == wide.bound <= before
        while wide.step():
            pass
        assert wide.is_closed
        raised += narrow.bound > before
        assert option.bound == wide.bound <= narrow.bound
        while narrow.step():
            pass
        assert narrow.is_closed
        assert wide.value <= narrow.value < inf
    assert raised


@pytest.mark.parametrize("name", NAMES)
def test_families_that_no_search_has_count_by_their_first_bounds(name: str) -> None:
    for option in options_of(name)[:6]:
        first = option.bound
        assert first == min(family.bound for family in option.families)
        least, *_ = sizes_of(option)
        narrow = option.search(least)
        assert narrow is not None
        while narrow.step():
            pass
        words = option.space.tile_words
        others = min(family.bound for family in option.families if words(family) > least)
        assert option.bound == min(narrow.value, others)
        assert option.search(least - 1) is None
