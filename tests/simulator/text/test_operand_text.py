"""The text form of operands reads back; what is no operand is refused with a proposal."""

from __future__ import annotations

import pytest

from tilewright.simulator.isa.dsd import CounterValue, Element, Immediate, Operand, Ref, Register
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.text.operand_text import operand_text, parse_operand
from tilewright.simulator.text.tokens import Line

K = Index(1, (("k", 2),))
CASES: list[tuple[Operand, str]] = [
    (Ref("column"), "column"),
    (Ref("column", K), "column[2*k + 1]"),
    (Ref("d", Index(), Index(4), Index(0, (("s", 1),)), "w"), "d {of w length 4 stride s}"),
    (Element("x", K), "x(2*k + 1)"),
    (Immediate(0.5), "#0.5"),
    (Immediate(3), "#3"),
    (CounterValue(K), "=2*k + 1"),
    (Register("src1", 2), "%dsr_src1 2"),
    (Register("dest", 0, fifo=True), "%dsr_fifo_dest 0"),
]


@pytest.mark.parametrize(("operand", "text"), CASES, ids=[text for _, text in CASES])
def test_operands_read_back(operand: Operand, text: str) -> None:
    assert operand_text(operand) == text
    line = Line("file", 1, text)
    assert parse_operand(line) == operand
    assert not line.more


def test_a_bare_number_is_refused() -> None:
    with pytest.raises(ProgramError, match="here stands an operand") as caught:
        parse_operand(Line("file", 1, "3"))
    assert caught.value.instead == "#3"


def test_an_unknown_register_file_is_refused() -> None:
    with pytest.raises(ProgramError, match="unknown register file"):
        parse_operand(Line("file", 1, "%dsr_src2 1"))
