"""Values of the engine's rows: bits of numbers, load cycles and rates of operations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.bank_costs import strided
from tilewright.simulator.compile.code.simd_modes import group_cycles, mode_of
from tilewright.simulator.isa.dsd import Dsd, Fifo, Mem4d
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.profiles.profile import Profile


def bits_of(value: float | int, dtype: str, place: str) -> int:
    """Return the raw bits of a number as a dtype, a non-negative integer of 16 or 32 bits.

    Floats are rounded to nearest; integers may be signed or unsigned: -1 as i16 gives 65535. place:
    names the number in an error. Raises ProgramError if the dtype cannot hold the number.
    """
    try:
        if dtype in {"f32", "f16"}:
            with np.errstate(over="raise"):
                scalar = np.float32(value) if dtype == "f32" else np.float16(value)
            return int(scalar.view(np.uint32 if dtype == "f32" else np.uint16))
        bits = 16 * DTYPES[dtype]
        if value != int(value) or not -(1 << (bits - 1)) <= value < (1 << bits):
            raise ValueError
        return int(value) & ((1 << bits) - 1)
    except (ValueError, OverflowError, FloatingPointError):
        raise ProgramError(f"{place}: the number is not a {dtype}", value=value) from None


def load_cycles(resolved: ResolvedOperation, profile: Profile) -> int:
    """Return the cycles from an operation's fetch to its dispatch (wafer.md §4.1).

    They are `descriptor_load_cycles` of the profile for each descriptor after the first (one that
    two operands share is loaded once), `descriptor_use_cycles` after the last,
    `extended_descriptor_cycles` for each of several dimensions, `increment_offset_cycles` for each
    with a counter in its offset, and `scalar_load_cycles` for a scalar in memory. An operation on
    registers alone loads none: the cycles are the scalar's, at least 1.
    """
    loaded = _loaded(resolved)
    scalar = sum(1 for o in resolved.sources if o.letter == "v" and o.is_memory)
    if not loaded:  # registers are loaded by instructions of their own
        return max(1, scalar * profile.scalar_load_cycles)
    return (
        (len(loaded) - 1) * profile.descriptor_load_cycles
        + profile.descriptor_use_cycles
        + sum(1 for dsd, _ in loaded if isinstance(dsd, Mem4d)) * profile.extended_descriptor_cycles
        + sum(1 for _, offset in loaded if offset.terms) * profile.increment_offset_cycles
        + scalar * profile.scalar_load_cycles
    )


def load_stalls(resolved: ResolvedOperation, profile: Profile) -> int:
    """Return the cycles in which an operation's dispatch waits for its last descriptor.

    They are part of `load_cycles`: from the load of the descriptor to its first use.
    """
    if not _loaded(resolved):
        return 0
    return max(0, profile.descriptor_use_cycles - profile.descriptor_load_cycles)


def _loaded(resolved: ResolvedOperation) -> list[tuple[Dsd | None, Index]]:
    """Return the descriptors that an operation loads, each once, with their offsets."""
    loaded: list[tuple[Dsd | None, Index]] = []
    for operand in resolved.operands:
        is_loaded = operand.letter != "v" and operand.register is None
        if is_loaded and (operand.dsd, operand.offset) not in loaded:
            loaded.append((operand.dsd, operand.offset))
    return loaded


def group_pace(resolved: ResolvedOperation, profile: Profile) -> tuple[int, Fraction]:
    """Return (values that go at once, cycles per such group) of an operation on a machine.

    With a queue, a FIFO or a SIMD mode the pair is (1, cycles per value), where a queue passes at
    most one wavelet per `cycles_per_wavelet`. A reduction to a scalar goes one by one. The rates
    are those of the profile, lengthened by strides (wafer.md §2.2, §3.2).
    """
    timing = profile.operations[resolved.operation.name]
    if resolved.is_reduction:
        group, cycles = 1, timing.reduction
    else:
        group = timing.group
        cycles = strided(resolved, profile, timing.cycles[resolved.memory_sources], group)
    mode = mode_of(resolved)
    if mode != at.SIMD_NONE:
        return 1, group_cycles(mode, cycles / group, profile)
    if resolved.is_fabric:
        return 1, max(cycles / group, profile.cycles_per_wavelet)
    if any(isinstance(operand.dsd, Fifo) for operand in resolved.operands):
        return 1, cycles / group
    return group, cycles


def free_cycles(resolved: ResolvedOperation, profile: Profile) -> Fraction:
    """Return the cycles of a group of an operation without stalls by strides and by sums.

    A group is the values that go at once. A reduction to a scalar then takes at most a cycle per
    value. An operation on queues or FIFOs keeps its cycles, as it waits by its queues.
    """
    timing = profile.operations[resolved.operation.name]
    group, cycles = group_pace(resolved, profile)
    streams = resolved.is_fabric or any(isinstance(o.dsd, Fifo) for o in resolved.operands)
    if streams or mode_of(resolved) != at.SIMD_NONE:
        return cycles
    if resolved.is_reduction:
        return min(Fraction(1), cycles)
    assert group == timing.group
    return timing.cycles[resolved.memory_sources]
