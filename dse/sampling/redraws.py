"""Proposals that cannot be built are drawn again, so that they are no trials."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from tilewright.dse.study.design_space import Choice
from tilewright.dse.study.sampler import Proposal, Refusals, Refused

MOST_DRAWS: Final = 64
"""Designs that are drawn for one trial at most; the last one is tried, whatever becomes of it."""


def redrawn(
    proposals: Sequence[Proposal],
    fixed: Collection[int],
    draw: Callable[[Sequence[int], int], Sequence[Proposal]],
    refusals: Refusals,
) -> list[Proposal]:
    """Return proposals in whose place others stand where they cannot be built.

    `fixed`: positions of those that are tried in any case; `draw`: gives others for some positions,
    in round 1 and so on; `refusals`: why designs cannot be built. Each round asks for all that is
    left at once, so that the answer does not depend on how many are looked at side by side.
    """
    chosen = list(proposals)
    refused: list[tuple[Refused, ...]] = [()] * len(chosen)
    left = [position for position in range(len(chosen)) if position not in fixed]
    for number in range(1, MOST_DRAWS):
        choices = [chosen[position].choice for position in left]
        answers = zip(left, choices, refusals(choices), strict=True)
        beyond = {place: Refused(c, reason) for place, c, reason in answers if reason is not None}
        if not beyond:
            break
        left = list(beyond)
        for position, other in zip(left, draw(left, number), strict=True):
            refused[position] += (beyond[position],)
            chosen[position] = other
    return [replace(each, refused=why) for each, why in zip(chosen, refused, strict=True)]


def in_order(choices: Iterator[Choice], count: int, refusals: Refusals) -> list[Proposal]:
    """Return proposals of the next designs of a sequence, those passed over that cannot be built.

    `count`: how many; `refusals`: why designs cannot be built.
    """
    proposals: list[Proposal] = []
    passed: tuple[Refused, ...] = ()
    while len(proposals) < count:
        drawn = list(islice(choices, count - len(proposals)))
        for choice, reason in zip(drawn, refusals(drawn), strict=True):
            if reason is not None and len(passed) < MOST_DRAWS - 1:
                passed = (*passed, Refused(choice, reason))
            else:
                proposals.append(Proposal(choice, {}, passed))
                passed = ()
    return proposals
