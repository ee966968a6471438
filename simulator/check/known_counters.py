"""What is known of counters before a run: the turns of a loop, as far as nothing else sets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.simulator.program.program import (
    Add,
    Compute,
    DsdOperation,
    If,
    Instruction,
    Loop,
    Map,
    Set,
)

Counts = Mapping[str, int]
"""Counters that are in 0..count-1."""


def counters_set(body: tuple[Instruction, ...]) -> frozenset[str]:
    """Return the counters that a body gives values, the variables of its loops left out."""
    return frozenset(_set_by(body))


def without(counts: Counts, *names: str) -> Counts:
    """Return what is known when nothing is known of some counters."""
    if not any(name in counts for name in names):
        return counts
    return {name: count for name, count in counts.items() if name not in names}


def guarded(counts: Counts, test: If) -> Counts:
    """Return what is known where the counter of an `if` is below its limit."""
    count = counts.get(test.variable)
    if count is None or test.below >= count:
        return counts
    if test.below < 1:  # the body never runs
        return without(counts, test.variable)
    return {**counts, test.variable: test.below}


def _set_by(body: tuple[Instruction, ...]) -> Iterator[str]:
    for instruction in body:
        match instruction:
            case Set(name, _) | Add(name, _):
                yield name
            case Compute(str(name)):
                yield name
            case DsdOperation(result=str(name)):
                yield name
            case Map(inputs, output, inner):
                yield from (name for name, _ in (*inputs, *filter(None, (output,))))
                yield from _set_by(inner)
            case Loop():
                yield from _set_by(instruction.body)
            case If():
                yield from _set_by((*instruction.then, *instruction.otherwise))
