"""Families of codes that differ only in names and numbers: lengths, places, strides, counts.

What is found out about one of them by traced numbers (`traced_numbers.py`) holds for all that take
the same way through the checks and the compiler, which conditions on their numbers tell
(engines.md §9). `family_parts.py` says which codes are of one family.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from tilewright.arch.memo import IdentityCache, ValueCache
from tilewright.simulator.check.field_types import check_fields
from tilewright.simulator.compile.families.family_parts import Renumbering, split_code
from tilewright.simulator.compile.families.traced_numbers import FamilyConditions, Ints, NumberTrace
from tilewright.simulator.program.program import ElementCode

R = TypeVar("R")
MOST_WAYS: Final = 4
"""Ways through a stage that are kept for a family."""
MOST_UNTRACED: Final = 2
"""Attempts that may fail: what fails twice mostly does for all codes of a family."""
UNTRACED: Final = (TypeError, AttributeError, ValueError, ZeroDivisionError)
"""What traced numbers raise where they cannot go."""

AnswerFiller = Callable[[ElementCode, Ints], R]
"""Gives an answer about a code from what `Guide.follow` gave."""


def constant_answer(answer: R) -> Callable[[FamilyConditions], AnswerFiller[R]]:
    """Return a maker of fillers that give the same answer for every code of a family.

    A filler makes the answer about one code from its numbers (see `family_answer`); this is the
    maker for an answer that does not depend on numbers.
    """
    return lambda _: lambda *_: answer


@dataclass(slots=True)
class _Stage:
    """What is known of how a family's codes answer one question, such as what their rows are.

    `answers`: (conditions on the numbers, function that gives the answer where they hold);
    `misses`: number of codes for which no conditions held; `untraced`: attempts with traced numbers
    that failed.
    """

    answers: list[tuple[FamilyConditions, AnswerFiller[Any]]] = field(default_factory=list)
    misses: int = 0
    untraced: int = 0

    def learn(
        self,
        code: ElementCode,
        numbers: tuple[int, ...],
        traced: Callable[[ElementCode], Callable[[FamilyConditions], AnswerFiller[Any]]],
    ) -> None:
        """Solve the question by traced numbers for the 1st, 2nd, 4th ... code without an answer.

        Nothing is learnt if something is done with the numbers that cannot be traced.
        """
        self.misses += 1
        if self.misses & (self.misses - 1) or self.untraced == MOST_UNTRACED:
            return
        trace = NumberTrace(numbers)
        try:
            make_filler = traced(Renumbering(trace.numbers).code(code))
            guide = trace.guide()
            self.answers.insert(0, (guide, make_filler(guide)))
        except UNTRACED:
            self.untraced += 1
            return
        del self.answers[MOST_WAYS:]


@dataclass(slots=True, eq=False)
class _Family:
    members: ValueCache = field(default_factory=lambda: ValueCache(64))
    stages: dict[Hashable, _Stage] = field(default_factory=dict)


_CODES: Final = ValueCache(256)
"""Equal codes are one object: it is checked and compiled once, whatever the programs around it."""
_FAMILIES: Final = ValueCache(256)
_MEMBERS: Final = IdentityCache(256)
_TYPED: Final = IdentityCache(256)
"""Codes whose fields have the declared types."""


def canonical_code(code: ElementCode) -> ElementCode:
    """Return one object for all equal codes: the first that was asked about.

    A code is what a class of elements holds and runs. Checks and compilation are kept by object, so
    equal codes of many programs are checked and compiled once. The last few hundred are remembered.
    """
    if code in _MEMBERS:
        return code
    parts = split_code(code)
    if parts is None:
        return _CODES.first(code)
    family = _FAMILIES.of(parts.shape, _Family)
    first_member = family.members.of((parts.names, parts.numbers), lambda: code)
    _MEMBERS.of(first_member, "family", lambda: (family, parts.numbers))
    return first_member


def _family_of(code: ElementCode) -> tuple[_Family, tuple[int, ...]] | None:
    def found() -> tuple[_Family, tuple[int, ...]] | None:
        parts = split_code(code)
        return None if parts is None else (_FAMILIES.of(parts.shape, _Family), parts.numbers)

    return _MEMBERS.of(code, "family", found)  # type: ignore[no-any-return]


def twin_key(code: ElementCode) -> Hashable | None:
    """Return a key that is equal for codes which differ in names only; None if there is none.

    What is asked about their numbers, and not about names, has one answer (engines.md §9).
    """
    return _family_of(code)


def family_answer(
    code: ElementCode,
    question: Hashable,
    plain: Callable[[], R],
    traced: Callable[[ElementCode], Callable[[FamilyConditions], AnswerFiller[R]]],
) -> R:
    """Answer a question about a code, by formulas if a code with other numbers was solved before.

    A family is all codes that are equal but for names and numbers (lengths, offsets, counts). For
    a few codes of a family the answer is computed with traced numbers, integers that remember how
    results depend on them; later codes get their answers by filling in their own numbers
    (engines.md §9).

    - question: names what is asked; answers are kept by family and question.
    - plain: computes the answer for this code alone. What it raises is passed on and never kept.
    - traced: computes it for a copy of the code with traced numbers; returns a maker of the filler,
      which later gives the answer from the numbers of another code.

    The result is the same as that of `plain()`.
    """
    member = _family_of(code)
    if member is None:
        return plain()
    family, numbers = member
    stage = family.stages.get(question)
    if stage is None:
        stage = family.stages[question] = _Stage()
    for place, (guide, fill) in enumerate(stage.answers):
        slots = guide.slots_for(numbers)
        if slots is not None:
            if place:  # the next code is mostly like this one
                stage.answers.insert(0, stage.answers.pop(place))
            return fill(code, slots)  # type: ignore[no-any-return]
    answer = plain()
    stage.learn(code, numbers, traced)
    return answer


def check_once(code: ElementCode, question: Hashable, check: Callable[[ElementCode], None]) -> None:
    """Run a check of a code, unless formulas say that a code of its family passes it.

    A family is all codes that are equal but for names and numbers (engines.md §9). The types of
    the code's fields are checked before. question: names the check. check: raises ProgramError,
    which is passed on.
    """

    def plain() -> None:
        _TYPED.of(code, "fields", lambda: check_fields(code, f"code {code.name}"))
        check(code)

    def traced(code: ElementCode) -> Callable[[FamilyConditions], AnswerFiller[None]]:
        check(code)
        return constant_answer(None)

    family_answer(code, question, plain, traced)
