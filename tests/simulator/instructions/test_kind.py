"""Every kind of instruction has its entry: one way to read it, distinct words and records."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from every_construct import everything

from tilewright.simulator.instructions.table import KINDS, kind_of, kinds_by_word, records
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.printing import print_body


def test_every_kind_is_read_in_one_way() -> None:
    for kind in KINDS:
        assert bool(kind.words) != (kind.begins is not None), kind.record
        assert (kind.begins is None) == (kind.parse is None), kind.record


def test_words_and_records_are_distinct() -> None:
    words = Counter(word for kind in KINDS for word in kind.words)
    assert set(words.values()) == {1}
    assert set(words) == set(kinds_by_word())
    assert len(set(records())) == len(KINDS)


def test_kinds_with_bodies_are_those_whose_records_have_bodies() -> None:
    for kind in KINDS:
        assert issubclass(kind.record, Instruction)
        has_bodies = kind.record.bodies is not Instruction.bodies
        assert kind.has_bodies == has_bodies, kind.record
        assert fields(kind.record), kind.record


def test_the_first_word_of_every_line_is_the_kind_s() -> None:
    program = everything()
    kinds = set()
    for code in program.codes:
        for _, instruction in all_instructions(code):
            kind = kind_of(instruction)
            kinds.add(kind.record)
            line = next(print_body((instruction,)))
            assert not kind.words or line.split()[0] in kind.words, line
    assert kinds == set(records())
