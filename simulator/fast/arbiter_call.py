"""Calls of the arbiter by its address, so that only programs with contended links compile it.

As `engine/indirect.py`: the solver is compiled without the code of the arbiter (a third of it), and
calls it at the address that stands in the header of the times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import types
from numba.extending import intrinsic

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.engine.indirect import UNJITTED, generate_call
from tilewright.simulator.fast.fast_jit import part_kernel
from tilewright.simulator.fast.graph import Graph
from tilewright.simulator.fast.unit_times import X_PLAY, Times

What = tuple[int, int, int, int]
PLAIN: Final[list[Callable[[Graph, Times, int, What], Word]]] = []
"""Un-jitted, the arbiter itself."""


def _by_address(typing: Any, address: Any, graph: Any, times: Any, u: Any, what: Any) -> Any:  # noqa: ARG001, PLR0913, PLR0917
    """Call the arbiter at an address."""
    return types.int64(types.int64, graph, times, u, what), generate_call


def _plain(address: int, graph: Graph, times: Times, u: int, what: What) -> Word:  # noqa: ARG001
    return PLAIN[0](graph, times, u, what)


by_address: Any = _plain if UNJITTED else intrinsic(_by_address)


@part_kernel
def play(graph: Graph, times: Times, u: int, what: What) -> Word:
    """Let the arbiter do what `arbiter.play_unit` does."""
    return by_address(times.header[X_PLAY], graph, times, u, what)
