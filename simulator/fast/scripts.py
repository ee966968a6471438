"""The scripts of codes: each code is walked once, and codes of one family have one walk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tilewright.simulator.blocks import CodeBlock, Target
from tilewright.simulator.families import Fill, same, shared
from tilewright.simulator.fast.code import code_of_block, code_of_rows
from tilewright.simulator.fast.errors import NotCovered
from tilewright.simulator.fast.op_tables import op_rows, shaped
from tilewright.simulator.fast.script import AFTER, Script, Walk, overlapping, script_from
from tilewright.simulator.fast.walker import ScriptWalker
from tilewright.simulator.memo import Memo
from tilewright.simulator.program import ElementCode
from tilewright.simulator.tables import block_of, compiled_rows
from tilewright.simulator.tracing import Formulas, Guide, Ints

_SCRIPTS: Final = Memo(256)
"""Scripts of blocks, or why there is none."""


def script_of(block: CodeBlock) -> Script:
    """Return the script of a code, without events of work on memory. Raises NotCovered."""
    found = _SCRIPTS.of(block, "script", partial(_found, block))
    if isinstance(found, str):
        raise NotCovered(found)
    return found  # type: ignore[no-any-return]


def _found(block: CodeBlock) -> Script | str:
    def plain() -> Script | str:
        try:
            return script_from(_walk(block))
        except NotCovered as missing:
            return missing.reason

    def traced(code: ElementCode) -> Callable[[Guide], Fill[Script | str]]:
        layout, rows = compiled_rows(code, block.target)
        try:
            walk = ScriptWalker(code_of_rows(layout, rows, block.target), layout).walk()
        except NotCovered as missing:
            return same(missing.reason)
        return lambda guide: _Filler(walk, guide, block.target).script

    return shared(block.layout.code, ("script", block.target.key), plain, traced)


def _walk(block: CodeBlock) -> Walk:
    return ScriptWalker(code_of_block(block), block.layout).walk()


class _Filler:
    """Makes the scripts of a family of codes."""

    def __init__(self, walk: Walk, guide: Guide, target: Target) -> None:
        tables = op_rows(walk.ops, walk.words, AFTER)
        flat = [[n for row in table for n in row] for table in (*tables, walk.ending)]
        self._sizes = [len(table) for table in flat]
        self._formulas = Formulas([n for table in flat for n in table], guide)
        self._tasks, self._overlaps = walk.tasks, overlapping(walk.ops)
        self._target = target

    def script(self, code: ElementCode, slots: Ints) -> Script:
        """Return the script of a code."""
        *tables, ending = self._formulas.filled(slots, self._sizes)
        events = tuple(
            (kind, value, cycles) for kind, value, cycles in ending.reshape(-1, 3).tolist()
        )
        walked = partial(_walk_code, code, self._target)
        return Script(shaped(tables), events, self._tasks, self._overlaps, walked)


def _walk_code(code: ElementCode, target: Target) -> Walk:
    return _walk(block_of(code, target))
