"""Kernels that are compiled as a whole compute the same, and leave numba as it was."""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.core import codegen
from numba.core.types import functions

from tilewright.arch.whole_compilation import as_a_whole

ARGUMENTS = (types.int64[::1], types.int64)


@njit
def squared(value):
    return value * value


@njit
def summed(values, add):
    total = 0
    for value in values:
        total += squared(value) + add
    return total


@njit
def twice(values, add):
    return 2 * summed(values, add) + squared(add)


def whole(kernel, name):
    with as_a_whole(name):
        kernel.compile(ARGUMENTS)
    return kernel.overloads[ARGUMENTS]


def test_a_kernel_and_what_it_calls_compute_as_python_does() -> None:
    """First the inner kernel, then one around it, then the inner one by its own name."""
    values = np.arange(5)
    assert whole(summed, "summed").entry_point(values, 3) == 30 + 15
    assert whole(twice, "twice").entry_point(values, 3) == 2 * 45 + 9
    assert summed(values, 3) == 45
    assert twice(values, 3) == 99


def test_a_part_is_no_function_that_python_could_call() -> None:
    """numba compiles it anew, with machine code, when Python calls it."""
    whole(summed, "summed")
    assert squared.overloads == {}
    assert squared(7) == 49
    assert len(squared.overloads) == 1
    assert whole(twice, "twice").entry_point(np.arange(3), 1) == 2 * (5 + 3) + 1
    assert squared(7) == 49


def test_numba_is_as_before() -> None:
    before = (
        codegen.JITCodeLibrary._finalize_final_module,
        functions.BaseFunction.get_call_type,
    )
    whole(twice, "twice")
    assert before == (
        codegen.JITCodeLibrary._finalize_final_module,
        functions.BaseFunction.get_call_type,
    )
