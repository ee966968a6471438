"""The kernels that Python calls, by their machine code: numba loads only to compile them.

They hold the code of those they call, in this folder and in that of the reference engine.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from tilewright.arch.compiled import Kernel
from tilewright.simulator.engine.engine_entries import CONSTANTS

_FOLDER: Final = Path(__file__).parent
_ENGINE: Final = _FOLDER.parent / "engine"
_SOURCES: Final = (
    *sorted(path.name for path in _FOLDER.glob("*.py")),
    *sorted(f"../engine/{path.name}" for path in _ENGINE.glob("*.py")),
    *(f"../{name}" for name in CONSTANTS),
)
_LINE, _TABLE, _STACK = "int64[::1]", "int64[:, ::1]", "int64[:, :, ::1]"
_RECORDS: Final = {
    "Graph": ", ".join([_TABLE] * 3 + [_LINE] + [_TABLE] * 2 + [_LINE, _TABLE, _LINE]),
    "Times": ", ".join([_STACK] + [_LINE] * 7 + [_STACK] * 2 + [_LINE, _TABLE]),
    "Fifos": f"{_LINE}, bool[::1], {_STACK}",
    "Pairs": f"{_LINE}, {_LINE}, {_LINE}",
    "Tally": f"{_LINE}, uint8[::1], {_TABLE}",
    "Flow": f"{_LINE}, uint32[::1], uint32[::1], {_TABLE}, {_TABLE}, {_LINE}, {_LINE}, int64",
}
"""The fields of named tuples."""


def _entry(module: str, name: str, signature: str) -> Kernel:
    home = f"tilewright.simulator.fast.{module}"
    return Kernel(home, name, signature, _SOURCES, _RECORDS)


play_unit: Final = _entry("arbiter", "play_unit", "int64(Graph, Times, int64, UniTuple(int64, 4))")
solve: Final = _entry("solve", "solve", "void(Graph, Times)")
gather: Final = _entry(
    "solve", "gather", f"int64(Graph, Times, {_TABLE}, UniTuple(int64, 4), int64)"
)
expand: Final = _entry("segments", "expand", f"void({_TABLE}, int64, {_LINE})")
held: Final = _entry("state_timeline", "held", f"void(Graph, Times, {_LINE}, {_LINE})")
tally: Final = _entry("state_timeline", "tally", f"void(Graph, Times, {_TABLE}, Tally)")
units_meet: Final = _entry(
    "link_conflicts", "units_meet", f"void(Times, {_LINE}, {_LINE}, bool[::1])"
)
links_meet: Final = _entry(
    "link_conflicts", "links_meet", "void(Graph, Times, Fifos, Pairs, bool[::1])"
)
run_values: Final = _entry("value_run", "run_values", "void(Flow)")


@cache
def arbiter_address() -> int:
    """Return the address of the arbiter, which the solver calls where links are contended."""
    address = play_unit.address()
    if address is not None:
        return address
    from tilewright.simulator.fast.solve import PLAIN

    PLAIN[:] = [play_unit.python()]
    return 1
