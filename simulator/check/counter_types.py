"""Counters whose values have a dtype: arguments of tasks, inputs and outputs of `@map`.

A counter holds a float by its bits, so an instruction on floats of another size would take
something else than the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tilewright.simulator.instructions.control_flow import Add, Set
from tilewright.simulator.instructions.kind import Body
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.scalars import SCALARS, source_dtypes
from tilewright.simulator.program.code_parts import walk

FLOATS: Final = ("f32", "f16")
INTEGER_RESULTS: Final = ("lt", "le", "eq", "ne", "to_int")


def check_value_types(given: Mapping[str, str], body: Body, place: str) -> None:
    """Check that no scalar instruction takes a counter's value for a float of another size.

    `given`: dtype of the counters that have a value before the body (counters hold floats by their
    bits); those that the body changes are not checked. `place` begins the message. Raises
    ProgramError.
    """
    changed = set(_changed_counters(body))
    for compute in walk(body):
        if not isinstance(compute, ScalarOperation) or compute.operation not in SCALARS:
            continue  # another check refuses an unknown operation
        dtypes = source_dtypes(compute.operation, compute.dtype)
        for source, dtype in zip(compute.sources, dtypes, strict=False):
            if not isinstance(source, str) or source in changed or source not in given:
                continue
            if differ(given[source], dtype):
                raise ProgramError(
                    f"{place}, {compute.operation}: argument {source} is no {dtype}",
                    value=given[source],
                    instead=f"instructions on {given[source]}",
                )


def differ(left: str, right: str) -> bool:
    """Return whether the bits of a value of one dtype mean nothing as the other dtype.

    So if their sizes differ and one of them is a float: f32 and f16, or f32 and i16. A name that is
    no dtype gives False.
    """
    if left not in DTYPES or right not in DTYPES:
        return False  # another check refuses what is no dtype
    return DTYPES[left] != DTYPES[right] and (left in FLOATS or right in FLOATS)


def result_dtype(compute: ScalarOperation) -> str:
    """Return the dtype of a scalar instruction's result.

    It is that of the instruction, but i32 for to_int and for comparisons of floats.
    """
    integer = compute.operation in INTEGER_RESULTS
    return "i32" if integer and compute.dtype in FLOATS else compute.dtype


def _changed_counters(body: Body) -> Iterator[str]:
    """Yield the counters that scalar instructions of a body give a value."""
    for instruction in walk(body):
        if isinstance(instruction, Set | Add | ScalarOperation):
            yield from instruction.counters_set
