"""How kernels are compiled and called: numba's decorators, and calls of rare kernels by address.

With NUMBA_DISABLE_JIT=1 the same functions run as plain Python (the slow twin of the tests). The
kernels make no arrays, so they are compiled without reference counts, which makes calls cheap.

numba puts the code of every kernel into all kernels above it. A rare feature therefore has an
entry kernel `(store, memory, arguments) -> int`, whose address `features.py` writes into the store
of a program that needs it; `use` calls it from there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.engine_entries import CONSTANTS

F = TypeVar("F", bound=Callable[..., object])

OPTIONS: Final[dict[str, Any]] = {"_nrt": False, "no_cfunc_wrapper": True, "error_model": "numpy"}
ADDRESS: Final = (1 << 48) - 1
UNJITTED: Final = bool(cast(Any, numba).config.DISABLE_JIT)


def kernel(function: F) -> F:
    """Compile a function of the engine to machine code that Python can call. Used as a decorator.

    numba compiles it at the first call, and keeps the code on disk.
    """
    return _compiled(function)


def inner_kernel(function: F) -> F:
    """Compile a function that other compiled functions call. Used as a decorator.

    Python can call it by its machine code address only, which makes it cheaper to compile.
    """
    return _compiled(function, no_cpython_wrapper=True)


def inline_kernel(function: F) -> F:
    """Compile a small function whose machine code goes into its callers. Used as a decorator.

    The callers are compiled functions of the engine.
    """
    return _compiled(function, no_cpython_wrapper=True, forceinline=True)


def part_kernel(function: F) -> F:
    """Merge a function into the one or two compiled functions that call it. Used as a decorator.

    It is not compiled alone, which would cost 0.1 to 0.2 s at the first run (docs/machine.md).
    """
    return _compiled(function, no_cpython_wrapper=True, inline="always")


def _compiled(function: F, **options: Any) -> F:
    compiler: Any = numba.njit
    compiled = compiler(**OPTIONS, **options)(function)
    if not UNJITTED:
        with suppress(RuntimeError):  # no folder can be written: it is compiled in each process
            compiled.enable_caching()
    return cast(F, compiled)


@inline_kernel
def address(value: int) -> int:
    """Return an address in the store unchanged, so that the compiler knows it is not negative.

    The compiler then drops the test for an index from the end of the array on every access at a
    fixed distance from it.
    """
    return value & ADDRESS


def drop_stale_cache(folder: Path, *called: Path) -> None:
    """Delete a folder's compiled kernels if any source file that went into them has changed.

    numba's cache checks the file of each function only, but a kernel also holds the code of the
    kernels that it calls, also of those in the folders `called`. Without write access nothing is
    done.
    """
    sources = [path for source in (folder, *called) for path in sorted(source.rglob("*.py"))]
    sources += [folder.parent / name for name in CONSTANTS]
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = folder / "__pycache__" / "kernels.sha256"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return
        for path in sorted(folder.rglob("__pycache__/*.nb[ic]")):
            path.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return


drop_stale_cache(Path(__file__).parent)


FeatureArguments = tuple[int, int, int, int]
"""What an entry kernel works on, as its docstring says; unused places are 0."""
Entry = Callable[[Table, Memory, FeatureArguments], Word]

_types: Any = types  # numba's classes have no annotations
ARGUMENTS: Final = (
    _types.Array(types.int64, 1, "C"),
    _types.Array(types.uint32, 1, "C"),
    _types.UniTuple(types.int64, 4),
)
PLAIN: Final[list[Entry]] = []
"""Entry kernels un-jitted: an address is then a place in this list, counted from 1."""


def address_of(entry: Entry) -> int:
    """Return the machine code address of a kernel that is called by address.

    It is compiled, or read from numba's cache. Without compiled kernels it is a place in a list,
    from 1.
    """
    if UNJITTED:
        PLAIN.append(entry)
        return len(PLAIN)
    compiled = cast(Any, entry).get_compile_result(types.int64(*ARGUMENTS))
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def generate_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate LLVM code that calls a kernel whose address is the first argument.

    context, builder, signature, arguments: as numba passes them to an intrinsic. Returns the
    result's LLVM value; an error in the kernel is passed on.
    """
    result, types_given = signature.return_type, signature.args[1:]
    convention = context.call_conv
    pointer = convention.get_function_type(result, types_given).as_pointer()
    function = builder.inttoptr(arguments[0], pointer)
    status, value = convention.call_function(builder, function, result, types_given, arguments[1:])
    with cast(Any, cgutils).if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return value


def _by_address(typing: Any, address: Any, store: Any, memory: Any, given: Any) -> Any:  # noqa: ARG001
    """Call the entry kernel at an address."""
    return types.int64(types.int64, *ARGUMENTS), generate_call


def _by_place(address: int, store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    return PLAIN[int(address) - 1](store, memory, arguments)


by_address: Any = _by_place if UNJITTED else intrinsic(_by_address)


@inline_kernel
def use(store: Table, memory: Memory, feature: int, arguments: FeatureArguments) -> Word:
    """Call the kernel of a rare feature by the address in the store; return its result.

    feature: its number (FEATURE_...); arguments: four integers, as the kernel defines them. A
    program whose store has no address for it gets the run's error ERROR_FEATURE.
    """
    address = store[at.S_FEATURES + feature]
    if address == 0:
        store[at.S_ERROR] = at.ERROR_FEATURE
        return 0
    return by_address(address, store, memory, arguments)
