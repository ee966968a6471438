"""The compiled kernels that a search on a grid may call."""

from __future__ import annotations

from tilewright.arch.compiled import Kernel
from tilewright.simulator.fast.fast_entries import machine_kernels
from tilewright.simulator.search.orders.around_entry import least_around


def search_kernels() -> list[Kernel]:
    """Return the kernels of both engines and of the search's bounds."""
    return [*machine_kernels(), least_around]
