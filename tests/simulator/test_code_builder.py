"""What the builder of a code fills in, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.isa.dsd import Circbuf, Fabin, Mem1d, Ref
from tilewright.simulator.isa.machine_errors import ProgramError


@pytest.fixture
def code() -> CodeBuilder:
    code = CodeBuilder("main")
    code.buffer("a", "f16", 3)
    return code


def test_buffers_lie_behind_each_other_at_even_addresses(code: CodeBuilder) -> None:
    """Three f16 end at word 3, so the next buffer begins at word 4."""
    assert code.buffer("b", "f32", (2, 3)).address == 4
    assert code.buffer("c", "u16", 1, 100).address == 100
    assert code.buffer("d", "u16", 1).address == 102
    assert code.buffer("e", "u16", 1, 20).address == 20
    assert code.buffer("f", "u16", 1).address == 104


def test_a_view_takes_no_words_and_has_the_type_of_its_buffer(code: CodeBuilder) -> None:
    view = code.view("tail", "a", 2, first=1)
    assert (view.dtype, view.address) == ("f16", 1)
    assert code.buffer("b", "f32", 1).address == 4


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (("b", "f64", 1), "buffer main.b has an unknown dtype"),
        (("b", ["f32"], 1), "buffer main.b has an unknown dtype"),
        (("b", "f32", "3"), "buffer main.b: a shape is an integer or several"),
        (("b", "f32", 2.5), "buffer main.b: a shape is an integer or several"),
        (("b", "f32", 1, "end"), "buffer main.b: the address is a number of words"),
    ],
)
def test_a_wrong_buffer_is_refused_by_name(
    code: CodeBuilder, given: tuple[Any, ...], text: str
) -> None:
    with pytest.raises(ProgramError) as caught:
        code.buffer(*given)
    assert str(caught.value).splitlines()[0] == text


def test_a_vector_begins_at_the_first_element_in_steps_of_one(code: CodeBuilder) -> None:
    code.mem1d("v", "a", 3)
    assert code.build().dsd("v") == Mem1d("v", "a", 3, 1, 0)


@pytest.mark.parametrize("missing", [{"extent": 3}, {"buffer": "a"}, {}])
def test_a_vector_needs_a_buffer_and_an_extent(code: CodeBuilder, missing: dict[str, Any]) -> None:
    with pytest.raises(ProgramError, match="code main, DSD v: needs a buffer and an extent"):
        code.mem1d("v", **missing)


def test_an_unknown_property_is_refused_with_a_close_one(code: CodeBuilder) -> None:
    with pytest.raises(ProgramError) as caught:
        code.mem1d("v", "a", 3, wavelet_index_ofset=True)
    assert "code main, DSD v" in str(caught.value)
    assert "wavelet_index_offset" in str(caught.value)


def test_a_queue_may_be_named_by_its_color(code: CodeBuilder) -> None:
    code.input_queue(2, "red")
    code.output_queue(5, "red")
    code.fabin("in", "red", 8)
    code.fabout("out", "red", 8)
    built = code.build()
    assert built.dsd("in") == Fabin("in", 2, 8)
    assert built.dsd("out").queue == 5
    with pytest.raises(ProgramError, match="blue"):
        code.fabin("other", "blue", 8)


def test_a_descriptor_of_elsewhere_is_declared_as_it_is(code: CodeBuilder) -> None:
    ring = Circbuf("ring", "a", 5, 3)
    assert code.declare(ring) == Ref("ring")
    assert code.build().dsd("ring") is ring


def test_an_unknown_setting_of_a_task_is_refused_when_the_code_is_built(code: CodeBuilder) -> None:
    code.task("main", entry=True, tear_down="red")
    with pytest.raises(ProgramError) as caught:
        code.build()
    assert "code main, task main" in str(caught.value)
    assert "teardown" in str(caught.value)
