"""The kernels of the fast engine that Python calls, with their signatures.

Their machine code is kept on disk; numba is imported only to compile them (docs/decisions/0008).
They hold the code of the kernels that they call, below this folder and that of the reference
engine.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from tilewright.arch.compiled import Kernel, is_kept
from tilewright.arch.parallel_compilation import compile_missing
from tilewright.simulator.engine.engine_entries import SOURCES, follow
from tilewright.simulator.engine.features import engine_kernels

_SOURCES: Final = (*sorted(map(str, Path(__file__).parent.rglob("*.py"))), *SOURCES)
_LINE, _TABLE, _STACK = "int64[::1]", "int64[:, ::1]", "int64[:, :, ::1]"
_WORDS: Final = "uint32[::1]"
_RECORDS: Final = {
    "UnitGraph": ", ".join(
        [_TABLE] * 3 + [_LINE] + [_TABLE] * 2 + [_LINE] + [_TABLE] * 3 + [_LINE, _TABLE]
    ),
    "Times": ", ".join([_STACK] + [_LINE] * 7 + [_STACK] * 2 + [_LINE, _TABLE]),
    "WordSpan": "int64, int64, int64, int64",
    "Arbitration": "int64, int64, int64",
    "CycleRange": "int64, int64",
    "FifoLines": f"{_LINE}, bool[::1], {_STACK}",
    "FifoPairs": f"{_LINE}, {_LINE}, {_LINE}",
    "MarkCounts": f"{_LINE}, uint8[::1], {_TABLE}",
    "ValueState": f"{_LINE}, uint32[::1], uint32[::1], {_TABLE}, {_TABLE}, {_LINE}, {_LINE}, "
    f"int64, {_TABLE}",
    "GridRun": ", ".join(
        [_TABLE] * 3
        + [_LINE, _TABLE, _LINE]
        + [_TABLE] * 4
        + [_LINE] * 3
        + [_WORDS] * 2
        + [_TABLE] * 2
        + [_LINE] * 2
        + [_WORDS] * 2
        + [_TABLE, _WORDS, _LINE, _LINE]
    ),
}
"""The types of the fields of named tuples, by class name."""


def _entry(module: str, name: str, signature: str) -> Kernel:
    home = f"tilewright.simulator.fast.{module}"
    return Kernel(home, name, signature, _SOURCES, _RECORDS)


arbitrate: Final = _entry(
    "times.arbiter", "arbitrate", "int64(UnitGraph, Times, int64, Arbitration)"
)
store_readiness: Final = _entry(
    "times.arbiter", "store_readiness", "int64(UnitGraph, Times, int64, CycleRange)"
)
solve: Final = _entry("times.solve", "solve", "void(UnitGraph, Times)")
gather: Final = _entry(
    "times.port_words", "gather", f"int64(UnitGraph, Times, {_TABLE}, WordSpan, int64)"
)
expand: Final = _entry("times.segments", "expand", f"void({_TABLE}, int64, {_LINE})")
output_waits: Final = _entry(
    "values.state_timeline", "output_waits", f"void(UnitGraph, Times, {_LINE}, {_LINE})"
)
count_marks: Final = _entry(
    "values.state_timeline", "count_marks", f"void(UnitGraph, Times, {_TABLE}, MarkCounts)"
)
mark_states: Final = _entry(
    "values.state_timeline", "mark_element", f"void(UnitGraph, Times, {_TABLE}, int64, uint8[::1])"
)
units_conflict: Final = _entry(
    "proofs.link_conflicts", "units_conflict", f"void(Times, {_LINE}, {_LINE}, bool[::1])"
)
links_conflict: Final = _entry(
    "proofs.link_conflicts",
    "links_conflict",
    "void(UnitGraph, Times, FifoLines, FifoPairs, bool[::1])",
)
run_values: Final = _entry("values.value_run", "run_values", "void(ValueState)")
run_grid: Final = _entry("values.line_values", "run_grid", "int64(GridRun)")


_FIRST: Final = (run_values, output_waits, follow, solve)
"""What a first run needs."""


OF_TIMES: Final = (*_FIRST, units_conflict, links_conflict, arbitrate, store_readiness)
"""What finds times and proves them."""


def machine_kernels() -> list[Kernel]:
    """Return what a search with the machine in the loop may call, of both engines."""
    return [*OF_TIMES, *engine_kernels()]


@cache
def compile_entries() -> None:
    """Compile those kernels of a first run that are not on disk yet, in several processes."""
    compile_missing(_FIRST)


@cache
def are_compiled() -> bool:
    """Return whether the kernels that find times were on disk when this was first asked.

    If not, they take some seconds, which only long runs are worth.
    """
    return all(map(is_kept, OF_TIMES))


@cache
def arbiter_addresses() -> tuple[int, int]:
    """Return the machine code addresses of the kernels `arbitrate` and `store_readiness`.

    The solver calls them by address, so that only programs with contended links compile them.
    Without compiled kernels the addresses are 1 and 2, places in a list of Python functions.
    """
    addresses = arbitrate.address(), store_readiness.address()
    if addresses[0] is not None and addresses[1] is not None:
        return addresses[0], addresses[1]
    from tilewright.simulator.fast.times.unit_times import PLAIN

    PLAIN[:] = [arbitrate.python(), store_readiness.python()]
    return 1, 2
