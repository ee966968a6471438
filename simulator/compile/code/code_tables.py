"""Codes to the engine's static tables: operations, operands, instructions, tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile.code.code_encoder import CodeEncoder, next_layout_number
from tilewright.simulator.compile.families.code_families import (
    AnswerFiller,
    family_answer,
    twin_key,
)
from tilewright.simulator.compile.families.traced_numbers import FamilyConditions, Formulas, Ints
from tilewright.simulator.compile.store_header import store_header
from tilewright.simulator.compile.table_blocks import (
    WIDTHS,
    CodeBlock,
    CodeLayout,
    CodeTables,
    CompileTarget,
    ProgramTables,
    Rows,
    join_blocks,
    tables_of,
)
from tilewright.simulator.profiles.profile import Profile, profile_number
from tilewright.simulator.program.program import ElementCode

_BLOCKS: Final = IdentityCache(256)
"""Codes that have been compiled, by profile and, where they have some, numbers of colors."""


def compile_codes(
    codes: tuple[ElementCode, ...], profile: Profile, colors: Mapping[str, int]
) -> tuple[ProgramTables, tuple[CodeLayout, ...]]:
    """Compile the codes of a program for a profile to one set of tables.

    A code is what a class of elements holds and runs; the profile has the machine's cycles and
    sizes; colors: number of each color by name. Returns the tables of all codes one after the
    other, and the layout of each code (where its rows are and what they stand for). Raises
    ProgramError.
    """
    target = CompileTarget(profile, profile_number(profile), tuple(colors.items()))
    return join_blocks([block_of(code, target) for code in codes], store_header(profile))


def block_of(code: ElementCode, target: CompileTarget) -> CodeBlock:
    """Return the compiled tables of one code, kept from an earlier call if possible.

    target: the profile and the numbers of the colors, which are not in the tables of codes with a
    family: these change no router and bind no queue. The same object is returned for the same code
    and target. Raises ProgramError for what the profile does not allow.
    """
    has_colors = twin_key(code) is None
    key = target.number, target.colors if has_colors else ()
    block: CodeBlock = _BLOCKS.of(code, key, partial(_compiled, code, target))
    return block


def compiled_rows(code: ElementCode, target: CompileTarget) -> tuple[CodeLayout, Rows]:
    """Compile one code, without caches: return its layout and the rows of each of its tables.

    target: the profile and the numbers of the colors. The layout says what the rows stand for. A
    code of traced numbers (integers that remember their formulas) gives rows of such numbers.
    Raises ProgramError.
    """
    return CodeEncoder(code, target).encode()


def _compiled(code: ElementCode, target: CompileTarget) -> CodeBlock:
    def plain() -> CodeBlock:
        layout, rows = compiled_rows(code, target)
        return CodeBlock(layout, target, tuple(map(len, rows)), partial(tables_of, rows))

    def traced(code: ElementCode) -> Callable[[FamilyConditions], AnswerFiller[CodeBlock]]:
        layout, rows = compiled_rows(code, target)
        return lambda guide: _BlockFiller(layout, target, rows, guide).block

    return family_answer(code, ("tables", target.number), plain, traced)


class _BlockFiller:
    """Makes the blocks of a family of codes."""

    def __init__(
        self, layout: CodeLayout, target: CompileTarget, rows: Rows, guide: FamilyConditions
    ) -> None:
        self._layout = layout
        self._target = target
        self._sizes = tuple(map(len, rows))
        self._formulas = Formulas([n for table in rows for row in table for n in row], guide)

    def block(self, code: ElementCode, slots: Ints) -> CodeBlock:
        """Return the tables of a code of this family, which are filled when they are needed.

        slots: the numbers of the code in which members of the family differ.
        """
        alone = cache(partial(compiled_rows, code, self._target))
        learnt = self._layout
        names = {old.name: b.name for old, b in zip(learnt.code.buffers, code.buffers, strict=True)}
        layout = replace(
            learnt,
            code=code,
            number=next_layout_number(),
            operations=_DeferredSequence(self._sizes[0], lambda: alone()[0].operations),
            sources=_DeferredSequence(self._sizes[2], lambda: alone()[0].sources),
            buffers=tuple((row, names[buffer]) for row, buffer in learnt.buffers),
        )
        return CodeBlock(layout, self._target, self._sizes, partial(self._tables, slots))

    def _tables(self, slots: Ints) -> CodeTables:
        words = [rows * width for rows, width in zip(self._sizes, WIDTHS, strict=True)]
        parts = zip(self._formulas.filled(slots, words), WIDTHS, strict=True)
        return CodeTables(*(part.reshape(-1, width) for part, width in parts))


class _DeferredSequence(Sequence[tuple[str, Any]]):
    """A sequence in a layout that results and messages need, made when it is first read."""

    def __init__(self, size: int, make: Callable[[], Sequence[tuple[str, Any]]]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: Any) -> Any:
        return self._make()[number]
