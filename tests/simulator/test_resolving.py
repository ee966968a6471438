"""Operations are resolved once, and checked where their operands lie."""

from __future__ import annotations

import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.isa.dsd import Element, Immediate, Ref
from tilewright.simulator.isa.index_expression import Index, variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.resolving import check_bounds, resolve, resolve_operand
from tilewright.simulator.program.instruction import DsdOperation
from tilewright.simulator.program.program import ElementCode

MOVE = DsdOperation("fmovs", Ref("v"), (Ref("w"),))


def code_of(name: str = "main", extent: int = 4) -> ElementCode:
    code = CodeBuilder(name)
    code.buffer("a", "f32", 10)
    code.mem1d("v", "a", extent, stride=2)
    code.mem1d("w", "a", extent)
    code.mem1d("halves", "a", extent, wavelet_index_offset=True)
    code.fabin("in", 2, extent)
    code.fabout("out", 3, extent)
    return code.build()


def test_equal_operations_of_any_code_are_one_object() -> None:
    first, second = code_of("first"), code_of("second")
    again = DsdOperation("fmovs", Ref("v"), (Ref("w"),))
    assert resolve(first, "main", MOVE) is resolve(second, "other", again)
    assert resolve(first, "main", MOVE) is not resolve(code_of(extent=3), "main", MOVE)


def test_an_element_is_a_pointer_as_a_destination_alone() -> None:
    element = Element("a", Index(3))
    assert resolve_operand(code_of(), element, "here", is_dest=True).letter == "p"
    assert resolve_operand(code_of(), element, "here").letter == "v"
    assert resolve_operand(code_of(), Immediate(2.0), "here").letter == "v"


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (DsdOperation("fmovs", Ref("in"), (Ref("w"),)), "a fabin DSD cannot be a destination"),
        (DsdOperation("fmovs", Ref("v"), (Ref("out"),)), "a fabout DSD cannot be a source"),
        (DsdOperation("fmovs", Ref("out"), (Ref("in").at(1),)), "a fabric DSD has no offset"),
        (DsdOperation("fmovh", Ref("v"), (Ref("w"),)), "buffer a has the wrong dtype"),
        (DsdOperation("fmovs", Ref("v"), (Ref("vv"),)), "unknown DSD"),
    ],
)
def test_operands_that_do_not_match_are_refused(operation: DsdOperation, text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        resolve(code_of(), "main", operation)
    assert f"code main, task main, @{operation.operation}: {text}" in str(caught.value)


def test_a_vector_stays_inside_for_all_turns_of_a_loop() -> None:
    """Elements 0, 2, 4, 6 of ten may begin at 0 to 3: a loop of 4 turns fits, one of 5 does not."""
    moved = resolve_operand(code_of(), Ref("v").at(variable("k")), "here")
    check_bounds(moved, {"k": 4}, "here")
    with pytest.raises(ProgramError, match="here: operand v leaves buffer a of 10 elements") as bad:
        check_bounds(moved, {"k": 5}, "here")
    assert bad.value.value == "elements 0 to 10"
    assert bad.value.instead == "elements 0 to 9"


def test_an_offset_by_another_counter_is_left_to_the_run() -> None:
    check_bounds(resolve_operand(code_of(), Ref("v").at(variable("n")), "here"), {"k": 99}, "here")


def test_an_index_counts_words_and_half_a_value_counts_as_one() -> None:
    """Four f32 from element 0: an index of 12 words ends at element 9, one of 13 at 10."""
    indexed = resolve_operand(code_of(), Ref("halves"), "here")
    check_bounds(indexed, {}, "here", Index(12))
    with pytest.raises(ProgramError, match="leaves buffer a"):
        check_bounds(indexed, {}, "here", Index(13))
    plain = resolve_operand(code_of(), Ref("w"), "here")
    check_bounds(plain, {}, "here", Index(13))  # which moves no other vector
