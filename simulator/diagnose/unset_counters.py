"""Counters that a program reads and never gives a value: most likely a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.instructions.control_flow import Loop
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.program import ElementCode


def unset_counter_notes(layouts: Iterable[CodeLayout]) -> Iterator[str]:
    """Yield a note for each counter to which nothing in its code gives a value: it is always 0.

    `layouts`: of the compiled codes of a program.
    """
    for layout in layouts:
        given = _given(layout.code)
        for name in layout.variables:
            if name not in given:
                close = get_close_matches(name, sorted(given), n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                code = layout.code.name
                yield f"counter {name} of code {code} gets no value, so it is always 0{hint}"


def _given(code: ElementCode) -> frozenset[str]:
    """Return the counters that arguments of tasks, loops or other instructions give a value."""
    names = {name for task in code.tasks for name, _ in task.arguments}
    for _, instruction in all_instructions(code):
        names.update(instruction.counters_set)
        if isinstance(instruction, Loop):
            names.add(instruction.variable)
    return frozenset(names)
