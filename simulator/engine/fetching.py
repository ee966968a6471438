"""Prefetch the rows of the agents that are visited next, for speed; results stay the same.

The rows of a large grid do not fit the near caches of the processor, and the processor cannot
predict the order of visits. The list of a cycle's agents names the rows that come next. Without the
prefetch a visit mostly waits for memory.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Table
from tilewright.simulator.engine.jit import UNJITTED, address, part_kernel

FAR, NEAR = 12, 6
"""Visits ahead at which an agent's row is fetched, and then the rows that it points at."""
LINE: Final = 8
_ir: Any = ir  # llvmlite's classes have no annotations
_TO_WRITE, _KEEP, _DATA = 1, 3, 1


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    word = builder.bitcast(builder.gep(data, [arguments[1]]), _ir.IntType(8).as_pointer())
    number = _ir.IntType(32)
    kind = _ir.FunctionType(_ir.VoidType(), [word.type, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", [word.type], kind)
    builder.call(function, [word, number(_TO_WRITE), number(_KEEP), number(_DATA)])
    return context.get_dummy_value()


def _by_processor(typing: Any, store: Any, place: Any) -> Any:  # noqa: ARG001
    """Fetch the line of a word of the store."""
    return types.void(store, types.int64), _generate


def _not_at_all(store: Table, place: int) -> None:
    pass


fetch: Any = _not_at_all if UNJITTED else intrinsic(_by_processor)


@part_kernel
def fetch_ahead(store: Table, batch: int, i: int, count: int) -> None:
    """Prefetch into the processor's cache the rows of agents that are visited soon.

    batch: address of the list of `count` agents; i: number of the current one. Results do not
    change.
    """
    row = address(store[batch + min(i + FAR, count - 1)])
    fetch(store, row)
    fetch(store, row + LINE)
    row = address(store[batch + min(i + NEAR, count - 1)])
    begins = address(store[row + at.A_WORK])
    fetch(store, begins)
    fetch(store, begins + LINE)
    after = address(store[row + at.F_NEXT])  # of an element the header, which is near anyway
    fetch(store, after)
    fetch(store, after + LINE)
