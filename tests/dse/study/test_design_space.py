"""A design space: designs by values, by indices of values, and by number."""

from __future__ import annotations

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.study.design_space import Dimension, Space, canonical_json

SPACE = Space(
    (
        Dimension("size", (1, 2.5, 8), ordered=True),
        Dimension("on", (False, True), ordered=False),
        Dimension("kind", ("sram", "1"), ordered=False),
    )
)


def test_every_design_has_one_number_and_the_last_knob_varies_fastest():
    choices = [SPACE.nth(number) for number in range(SPACE.size)]
    assert len(set(choices)) == SPACE.size == 12
    assert choices == sorted(choices)
    assert SPACE.point(choices[1]) == {"size": 1, "on": False, "kind": "1"}
    assert [SPACE.choice(SPACE.point(choice)) for choice in choices] == choices


def test_a_truth_value_is_not_the_number_that_it_equals():
    size, on = SPACE.dimensions[:2]
    assert [size.index(1), size.index(2.5), on.index(True)] == [0, 1, 1]
    with pytest.raises(SpecError, match="size has no such value"):
        size.index(True)
    with pytest.raises(SpecError, match="on has no such value"):
        on.index(0)


def test_a_text_is_not_the_number_it_reads_as():
    assert SPACE.dimensions[2].index("1") == 1
    with pytest.raises(SpecError, match="no such value"):
        SPACE.dimensions[2].index(1)


def test_a_value_that_is_not_in_the_space_is_refused_with_a_short_list():
    many = Dimension("n", tuple(range(20)), ordered=True)
    with pytest.raises(SpecError) as caught:
        many.index(99)
    assert caught.value.instead == "one of 0, 1, 2, 3, 4, 5, 6, 7, … (20 values)"


def test_missing_and_unknown_knobs_are_named():
    with pytest.raises(SpecError) as caught:
        SPACE.choice({"size": 1, "kind": "sram", "off": True})
    assert str(caught.value).splitlines()[0].endswith("missing: on; not a knob: off")
    assert caught.value.instead == "on: False, True"


def test_an_empty_space_has_one_design():
    assert Space(()).size == 1
    assert Space(()).point(Space(()).nth(0)) == {}


def test_canonical_text_is_one_for_equal_values():
    assert canonical_json({"b": 1, "a": [True, "ä"]}) == '{"a":[true,"ä"],"b":1}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("inf"))
