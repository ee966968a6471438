"""The kernels of the reference engine that Python calls, with their signatures.

Their machine code is kept on disk; numba is imported only to compile them (docs/decisions/0008).
Each kernel holds the code of the kernels that it calls, so it depends on every file below this
folder and on the files of constants beside it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from tilewright.arch.compiled import Kernel, LongKernel
from tilewright.arch.parallel_compilation import compile_missing

PACKAGE: Final = "tilewright.simulator.engine"
CONSTANTS: Final = ("isa/operations.py", "isa/scalars.py", "run/trace.py", "compile/columns.py")
"""Files of the simulator whose constants are compiled into the kernels."""

_FOLDER: Final = Path(__file__).parent
SOURCES: Final = (
    *sorted(map(str, _FOLDER.rglob("*.py"))),
    *(str(_FOLDER.parent / name) for name in CONSTANTS),
)
"""Files on whose contents the machine code of a kernel depends."""
_STORE: Final = "int64[::1]"
_MEMORY: Final = "uint32[::1]"


def _entry(module: str, name: str, signature: str) -> Kernel:
    return Kernel(f"{PACKAGE}.{module}", name, signature, SOURCES)


run: Final = LongKernel(f"{PACKAGE}.kernel", "run", f"void({_STORE}, {_MEMORY})", SOURCES)
schedule_all: Final = _entry("fabric", "schedule_all", f"void({_STORE}, int64[::1], int64[::1])")
follow: Final = _entry(
    "values.pointer_lines", "follow", "bool(int64[::1], int64[:, ::1], int64[::1], int64[::1])"
)


def feature_kernel(module: str, name: str) -> Kernel:
    """Describe the compiled kernel of a rare feature, which is called by address.

    module: of the package of the engine; name: of the function (store, memory, four integers) ->
    integer in it.
    """
    return _entry(module, name, f"int64({_STORE}, {_MEMORY}, UniTuple(int64, 4))")


@cache
def compile_features(features: tuple[tuple[str, str], ...]) -> None:
    """Compile those kernels of rare features that are not on disk yet, in several processes.

    features: module and name of each kernel.
    """
    compile_missing([feature_kernel(*feature) for feature in features])


@cache
def compile_entries(features: tuple[tuple[str, str], ...]) -> None:
    """Compile those kernels of a program's first run that are not on disk yet.

    Several processes do so. features: module and name of the kernels of rare features that it
    needs.
    """
    rare = [feature_kernel(*feature) for feature in features]
    compile_missing([*rare, run, schedule_all, follow])
