"""The scripts of codes: each code is walked once, a family of codes twice or so.

Codes of a family differ in names and numbers only. A walk with traced numbers gives formulas for
the tables of all members; those that differ in names only have one script (engines.md §9).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from tilewright.arch.memo import IdentityCache, ValueCache
from tilewright.simulator.compile.code.code_tables import block_of, compiled_rows
from tilewright.simulator.compile.families.code_families import (
    AnswerFiller,
    constant_answer,
    family_answer,
    twin_key,
)
from tilewright.simulator.compile.families.traced_numbers import FamilyConditions, Formulas, Ints
from tilewright.simulator.compile.table_blocks import CodeBlock, CodeLayout, CompileTarget
from tilewright.simulator.fast.no_certificate import NotCovered, TooManySteps
from tilewright.simulator.fast.walk.plain_code import CodeWords, code_of_block, code_of_rows
from tilewright.simulator.fast.walk.script import (
    MainThreadWalk,
    Script,
    op_rows,
    overlapping,
    script_from,
    shaped,
)
from tilewright.simulator.fast.walk.walker import ScriptWalker
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.instruction import LoadRegister
from tilewright.simulator.program.program import ElementCode

MOST_TRACED: Final = 200
"""Instructions of the longest walk with traced numbers."""
_SCRIPTS: Final = IdentityCache(256)
"""Scripts of blocks, or the reason why there is none."""
_TWINS: Final = ValueCache(256)
"""The same by codes without their names."""


@dataclass(frozen=True, slots=True)
class PlacedCode:
    """A compiled code among those of its program.

    `block`: the code alone; `layout`: where its rows are in the words of all codes (`words`).
    """

    block: CodeBlock
    layout: CodeLayout
    words: Callable[[], CodeWords]

    @staticmethod
    def alone(block: CodeBlock) -> PlacedCode:
        """Return a code by itself, at address 0."""
        return PlacedCode(block, block.layout, partial(code_of_block, block))


def script_of(code: PlacedCode, steps: int) -> Script:
    """Return the script of a compiled code: the runs of operations of an element, in order.

    It is found once for codes that differ only in names, and by formulas for those that differ in
    numbers, too (engines.md §9). steps: most instructions that are followed. Raises NotCovered if
    the order depends on times or the code does what the fast engine does not cover.
    """
    script = _SCRIPTS.of(code.block, steps, partial(_twins_script, code, steps))
    if isinstance(script, str):
        raise NotCovered(script)
    return script  # type: ignore[no-any-return]


def _twins_script(code: PlacedCode, steps: int) -> Script | str:
    """Return the script of a code, or of one that differs in names only; or why there is none."""
    find, key = partial(_script_or_reason, code, steps), twin_key(code.block.layout.code)
    return find() if key is None else _TWINS.of((key, code.block.target.number, steps), find)


def _script_or_reason(placed: PlacedCode, steps: int) -> Script | str:
    block = placed.block

    def plain() -> Script | str:
        try:
            return script_from(_walk(placed, steps))
        except NotCovered as missing:
            return missing.reason

    def traced(code: ElementCode) -> Callable[[FamilyConditions], AnswerFiller[Script | str]]:
        if any(isinstance(i, LoadRegister) for _, i in all_instructions(code)):
            raise TypeError("what registers hold does not follow from traced numbers")
        layout, rows = compiled_rows(code, block.target)
        try:
            traced_code = code_of_rows(layout, rows, block.target)
            walk = ScriptWalker(traced_code, layout, min(steps, MOST_TRACED)).walk()
        except TooManySteps:
            raise TypeError("a walk that is too long for traced numbers") from None
        except NotCovered as missing:
            return constant_answer(missing.reason)
        return lambda guide: _ScriptFormulas(walk, guide, block.target, steps).script

    return family_answer(block.layout.code, ("script", block.target.number, steps), plain, traced)


def _walk(code: PlacedCode, steps: int) -> MainThreadWalk:
    return ScriptWalker(code.words(), code.layout, steps).walk()


class _ScriptFormulas:
    """The scripts of a family of codes, from formulas for the numbers of their tables."""

    def __init__(
        self, walk: MainThreadWalk, guide: FamilyConditions, target: CompileTarget, steps: int
    ) -> None:
        tables = op_rows(walk)
        flat = [[n for row in table for n in row] for table in (*tables, walk.ending)]
        self._sizes = [len(table) for table in flat]
        self._formulas = Formulas([n for table in flat for n in table], guide)
        self._tasks, self._overlaps = walk.tasks, overlapping(walk.ops)
        self._target, self._steps = target, steps

    def script(self, code: ElementCode, slots: Ints) -> Script:
        """Return the script of a code."""
        *tables, ending = self._formulas.filled(slots, self._sizes)
        events = tuple(
            (kind, value, cycles) for kind, value, cycles in ending.reshape(-1, 3).tolist()
        )
        find_walk = partial(_walk_code, code, self._target, self._steps)
        return Script(shaped(tables), events, self._tasks, self._overlaps, find_walk)


def _walk_code(code: ElementCode, target: CompileTarget, steps: int) -> MainThreadWalk:
    return _walk(PlacedCode.alone(block_of(code, target)), steps)
