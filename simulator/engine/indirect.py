"""Calls of kernels by their address, so that a caller is compiled without what it rarely calls.

numba puts the code of every kernel into all kernels above it. A rare feature therefore has an
entry kernel `(store, memory, what) -> int`, whose address `features.py` writes into the store of a
program that needs it; `use` calls it from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import inline_kernel

What = tuple[int, int, int, int]
Entry = Callable[[Table, Memory, What], Word]

UNJITTED: Final = bool(cast(Any, numba).config.DISABLE_JIT)
_types: Any = types  # numba's classes have no annotations
ARGUMENTS: Final = (
    _types.Array(types.int64, 1, "C"),
    _types.Array(types.uint32, 1, "C"),
    _types.UniTuple(types.int64, 4),
)
PLAIN: Final[list[Entry]] = []
"""Un-jitted, an address is a place in this list, counted from 1."""


def address_of(entry: Entry) -> int:
    """Return the address of an entry kernel, compiled or from the cache."""
    if UNJITTED:
        PLAIN.append(entry)
        return len(PLAIN)
    compiled = cast(Any, entry).get_compile_result(types.int64(*ARGUMENTS))
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


def generate_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the call of a kernel whose address is the first argument."""
    result, given = signature.return_type, signature.args[1:]
    convention = context.call_conv
    pointer = convention.get_function_type(result, given).as_pointer()
    function = builder.inttoptr(arguments[0], pointer)
    status, value = convention.call_function(builder, function, result, given, arguments[1:])
    with cast(Any, cgutils).if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return value


def _by_address(typing: Any, address: Any, store: Any, memory: Any, what: Any) -> Any:  # noqa: ARG001
    """Call the entry kernel at an address."""
    return types.int64(types.int64, *ARGUMENTS), generate_call


def _by_place(address: int, store: Table, memory: Memory, what: What) -> Word:
    return PLAIN[int(address) - 1](store, memory, what)


by_address: Any = _by_place if UNJITTED else intrinsic(_by_address)


@inline_kernel
def use(store: Table, memory: Memory, feature: int, what: What) -> Word:
    """Call the entry kernel of a feature that the program needs."""
    address = store[at.S_FEATURES + feature]
    if address == 0:
        store[at.S_ERROR] = at.ERROR_FEATURE
        return 0
    return by_address(address, store, memory, what)
