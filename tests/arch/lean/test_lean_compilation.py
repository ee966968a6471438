"""What numba is spared changes no byte of a kernel's object file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, cast

import numba
import pytest
from numba.core.bytecode import FunctionIdentity
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target

from tilewright.arch.lean import lean_compilation as lean

ARGUMENTS = numba.types.int64[::1], numba.types.int64
SPARED = (
    *("refresh", "broadcast", "run", "list_vars", "_rec_list_vars", "get_abi_sizeof"),
    *("_has_loc", "lower_getitem", "lower_setitem", "lower_binop"),
)
"""The methods of numba whose replacement leaves out work; the others change what is linked."""


def object_file() -> bytes:
    """Compile a function with loops, branches, a call and an inlined part for its object file."""
    compiler = cast(Callable[..., Any], numba.njit)

    def clipped(value: int, most: int) -> int:
        return value if value < most else 2 * most

    inlined = compiler(inline="always", no_cpython_wrapper=True)(clipped)
    called = compiler(no_cpython_wrapper=True)(lambda values, place: values[place % len(values)])

    def kernel(values: Any, most: int) -> int:
        total = 0
        for place in range(len(values)):
            if values[place] < 0:
                continue
            while total > most:
                total -= called(values, total)
            total += inlined(values[place], most)
        return total

    compiled = compiler(_nrt=False, error_model="numpy")(kernel)
    with lean.object_file_only():
        compiled.compile(ARGUMENTS)
        library = compiled.overloads[ARGUMENTS].library
        return cast(bytes, library._get_compiled_object())


def test_object_files_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = lean._changes()
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", count(1))  # it is in names
    assert {name for _, name, _ in changes} > set(SPARED)
    with_all = object_file()
    kept = [change for change in changes if change[1] not in SPARED]
    monkeypatch.setattr(lean, "_changes", lambda: kept)
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", count(1))
    assert object_file() == with_all


def test_a_function_that_numba_declares_while_it_compiles_is_found() -> None:
    """An intrinsic declares itself at its first use, when no module is imported."""
    target, declare = cast(Any, cpu_target).target_context, cast(Any, lower_builtin)
    with lean.object_file_only():
        target.refresh()
        for number in range(3):  # copies of a target, one after the other at the same address
            copied = target.subtarget()
            copied.refresh()
            declare(f"declared {number}", numba.types.int64)(lambda *_: None)
            copied.refresh()
            assert copied._defns[f"declared {number}"].versions
            del copied
