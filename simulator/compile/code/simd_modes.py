"""SIMD modes of queues and FIFOs: how many values of an operation go at once, and their checks.

simd_32: a wavelet carries two 16-bit values; simd_64: two wavelets must be ready for four values;
simd_32_or_64: four if they are ready, else two. FIFOs have modes on WSE-2 only.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.isa.dsd import ENDLESS, Fabin, Fabout, Fifo
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.isa.operations import ADD_CARRY, DROP
from tilewright.simulator.isa.resolving import operation_name, resolve
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_operations
from tilewright.simulator.program.program import ElementCode

MODES: Final = {"simd_32": at.SIMD_32, "simd_64": at.SIMD_64, "simd_32_or_64": at.SIMD_EITHER}
_PAIRED: Final = IdentityCache(256)
"""Slots of queues that may pass two wavelets in a cycle, by code."""
WIDEST: Final = {at.SIMD_NONE: 1, at.SIMD_MIXED: 1, at.SIMD_32: 2, at.SIMD_64: 4, at.SIMD_EITHER: 4}


def mode_of(resolved: ResolvedOperation) -> int:
    """Return the SIMD mode of an operation: how many 16-bit values of it go in one step.

    The result is a constant of the engine: SIMD_NONE (no operand has a mode), SIMD_32 (2 values),
    SIMD_64 (4), SIMD_EITHER (4 if they are ready, else 2), the narrowest of its queues and FIFOs;
    or SIMD_MIXED: a queue without a mode beside one with a mode makes values go one by one.
    """
    dsds = [o.dsd for o in resolved.operands if isinstance(o.dsd, Fabin | Fabout | Fifo)]
    given = [dsd.simd for dsd in dsds if dsd.simd]
    if not given:
        return at.SIMD_NONE
    if any(not dsd.simd for dsd in dsds if isinstance(dsd, Fabin | Fabout)):
        return at.SIMD_MIXED
    return min(MODES[mode] for mode in given)


def group_of(resolved: ResolvedOperation) -> int:
    """Return the number of values of which an operation's length must be a multiple: 1, 2 or 4.

    It is the values that go in one step, and at least what each queue's own SIMD mode takes at
    once, so that no wavelet stays half full.
    """
    mode = mode_of(resolved)
    group = 4 if mode == at.SIMD_64 else 1 if mode in (at.SIMD_NONE, at.SIMD_MIXED) else 2
    queues = [o.dsd for o in resolved.operands if isinstance(o.dsd, Fabin | Fabout)]
    return max(group, *(_needed(dsd.simd) for dsd in queues), 1)


def _needed(mode: str) -> int:
    """Return the values that a queue of a mode takes at least at once."""
    return {"": 1, "simd_64": 4}.get(mode, 2)


def wavelets(resolved: ResolvedOperation) -> int:
    """Return how many wavelets pass each queue of an operation whose queues are all of one mode."""
    return resolved.extent if mode_of(resolved) == at.SIMD_NONE else resolved.extent // 2


def group_cycles(mode: int, cycles: Fraction, profile: Profile) -> Fraction:
    """Return the cycles per value of an operation with a SIMD mode.

    cycles: per value without the limit of the queues. A step takes one wavelet time
    (`cycles_per_wavelet`) for 1, 2 or 4 values by the mode; the slower of both counts.
    """
    return max(cycles, profile.cycles_per_wavelet / WIDEST[mode])


def check_simd(code: ElementCode, profile: Profile) -> None:
    """Check the SIMD modes of a code's queues and FIFOs, and of the operations that use them.

    Raises ProgramError for an unknown mode, values that are not of 16 bits, a length that is no
    multiple of what goes at once, a queue that also uses indices or control wavelets, a FIFO that
    is too short, and a FIFO with a mode on a machine that has none.
    """
    for dsd in code.dsds:
        if isinstance(dsd, Fabin | Fabout | Fifo) and dsd.simd:
            _check_dsd(code, dsd, profile)
    for task, op in all_operations(code):
        with ErrorSubject(op):
            _check_operation(resolve(code, task.name, op), operation_name(code, task.name, op))


def _check_dsd(code: ElementCode, dsd: Fabin | Fabout | Fifo, profile: Profile) -> None:
    place = f"code {code.name}, DSD {dsd.name}"
    if dsd.simd not in MODES:
        raise ProgramError(f"{place}: unknown SIMD mode", value=dsd.simd, instead=", ".join(MODES))
    if isinstance(dsd, Fifo):
        _check_fifo(code, dsd, profile, place)
        return
    needed = _needed(dsd.simd)
    if dsd.extent % needed and dsd.extent != ENDLESS:
        raise ProgramError(
            f"{place}: the extent counts values, {needed} of which go at once", value=dsd.extent
        )
    names = ("control", "control_transform", "wavelet_index_offset")
    used = [name for name in names if getattr(dsd, name, False)]
    if used:
        raise ProgramError(f"{place}: a SIMD mode leaves no room for an index", value=used[0])


def _check_fifo(code: ElementCode, dsd: Fifo, profile: Profile, place: str) -> None:
    if not profile.fifo_simd:
        raise ProgramError(f"{place}: FIFOs of {profile.name} have no SIMD mode", value=dsd.simd)
    buffer = code.buffer(dsd.buffer)
    if buffer is None:
        return
    if DTYPES[buffer.dtype] != 1:
        raise ProgramError(f"{place}: SIMD modes are for 16-bit values", value=buffer.dtype)
    if buffer.elements < _needed(dsd.simd):
        raise ProgramError(
            f"{place}: a FIFO has room for the {_needed(dsd.simd)} values that go at once",
            value=buffer.elements,
        )


def _check_operation(resolved: ResolvedOperation, place: str) -> None:
    if mode_of(resolved) == at.SIMD_NONE:
        return
    operation = resolved.operation
    types = [group[0] for group in operation.mixed] or [operation.dtype]
    types += [o.buffer.dtype for o in resolved.operands if o.buffer is not None]
    wide = [name for name in types if DTYPES[name] != 1]
    if wide or operation.arithmetic in (ADD_CARRY, DROP):
        raise ProgramError(f"{place}: SIMD modes are for operations on 16-bit values", value=wide)
    _check_lengths(resolved, group_of(resolved), place)


def _check_lengths(resolved: ResolvedOperation, group: int, place: str) -> None:
    for operand in resolved.operands:
        dsd = operand.dsd
        if dsd is None or isinstance(dsd, Fifo) or operand.length is not None:
            continue  # known at run time only, where the engine looks
        if dsd.extent % group and dsd.extent != ENDLESS:
            raise ProgramError(
                f"{place}: {group} values go at once, the length of {dsd.name} is no multiple",
                value=dsd.extent,
                instead=f"a multiple of {group}",
            )


def paired_queues(code: ElementCode) -> frozenset[int]:
    """Return the slots of a code's queues that may pass two wavelets in one cycle (SIMD modes).

    Those of four values; in the mode simd_32 a wavelet goes alone. Slots 0 to 7 are input queues, 8
    to 15 output queues.
    """
    return _PAIRED.of(code, "paired", lambda: _paired_queues(code))  # type: ignore[no-any-return]


def _paired_queues(code: ElementCode) -> frozenset[int]:
    streams = (dsd for dsd in code.dsds if isinstance(dsd, Fabin | Fabout))
    dsds = [dsd for dsd in streams if dsd.simd in ("simd_64", "simd_32_or_64")]
    return frozenset(d.queue + (at.OUTPUT_SLOT if isinstance(d, Fabout) else 0) for d in dsds)
