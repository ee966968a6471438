"""Rare features: the kernels that few programs need, compiled for these programs only.

To add a feature: a number in `columns.py`, an entry kernel `(store, memory, arguments) -> int` that
no hot kernel calls by name, a row here, and `use(store, memory, FEATURE_..., arguments)` at its
call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.compiled import Kernel
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.store_layout import StoreLayout
from tilewright.simulator.engine.engine_entries import (
    compile_entries,
    compile_features,
    feature_kernel,
    follow,
    run,
    schedule_all,
)
from tilewright.simulator.isa.operations import ADD, MAX, MOVE, SUB


class LoadedProgram:
    """What features ask about a program: its store, and what several of them look at.

    `store`: the engine's array; `parts`: where the tables are in it.
    """

    def __init__(self, store: at.Table, parts: StoreLayout) -> None:
        self.store, self.parts = store, parts
        self.operation = parts.operation.view(store)
        self.instruction = parts.instruction.view(store)
        self.kinds = frozenset(self.instruction[:, 0].tolist())
        """The kinds of instructions that it has."""

    @cached_property
    def other_values(self) -> npt.NDArray[np.bool_]:
        """Which operations are not plain."""
        arithmetic, kind = self.operation[:, at.O_ARITHMETIC], self.operation[:, at.O_TYPE]
        summed = ((arithmetic == ADD) | (arithmetic == SUB)) & (kind < at.TYPE_F16)
        plain = (arithmetic == MOVE) | summed | ((kind == at.TYPE_F32) & (arithmetic <= MAX))
        other: npt.NDArray[np.bool_] = ~plain
        return other


@dataclass(frozen=True, slots=True)
class Feature:
    """Describe a rare feature of the engine, whose kernels are compiled only where needed.

    `module`: where its kernels are, below this folder; `entries`: name of each kernel by its number
    (FEATURE_...); `needed`: whether a program needs it.
    """

    module: str
    entries: dict[int, str]
    needed: Callable[[LoadedProgram], bool]


def _has_special(program: LoadedProgram) -> bool:
    instruction = program.instruction
    dispatched = instruction[instruction[:, 0] == at.I_OPERATION, 1]
    return bool(program.store[dispatched + at.O_SPECIAL].any())


def _has_map(program: LoadedProgram) -> bool:
    return at.I_MAP_START in program.kinds


def _has_rare_control(program: LoadedProgram) -> bool:
    return any(at.I_ARGUMENT <= kind < at.I_MAP_START for kind in program.kinds)


def _changes_fabric(program: LoadedProgram) -> bool:
    return any(at.I_END_TEARDOWN <= kind < at.I_MAP_START for kind in program.kinds)


def _listens(program: LoadedProgram) -> bool:
    elements = program.parts.element.view(program.store)
    return at.I_FLUSH in program.kinds or bool(elements[:, at.E_LISTEN].any())


def _steers(program: LoadedProgram) -> bool:
    return bool((program.parts.fifo.view(program.store)[:, at.F_SHARED] & at.STEERED).any())


def _has_other_values(program: LoadedProgram) -> bool:
    return bool(program.other_values.any())


def _has_other_lines(program: LoadedProgram) -> bool:
    return bool((program.other_values & (program.operation[:, at.O_FABRIC] == 0)).any())


def _has_conflicts(program: LoadedProgram) -> bool:
    return bool(program.operation[:, at.O_BANKS].any())


def _runs_beside(program: LoadedProgram) -> bool:
    return bool(program.operation[:, at.O_ASYNC].any())


def _keeps_written(program: LoadedProgram) -> bool:
    return bool(program.store[at.S_WRITTEN])


def _has_simd(program: LoadedProgram) -> bool:
    return bool(program.parts.operand.view(program.store)[:, at.D_SIMD].any())


FEATURES: Final = (
    Feature(
        "rare.special_operations",
        {at.FEATURE_LAUNCH: "launch", at.FEATURE_SPECIAL: "serve_special"},
        _has_special,
    ),
    Feature("rare.map_loop", {at.FEATURE_MAP: "map_step"}, _has_map),
    Feature("rare.rare_control", {at.FEATURE_CONTROL: "special_control"}, _has_rare_control),
    Feature("rare.rare_control", {at.FEATURE_FABRIC: "change_fabric"}, _changes_fabric),
    Feature("arrivals", {at.FEATURE_ARRIVALS: "arrivals", at.FEATURE_RECEIVE: "receive"}, _listens),
    Feature("switch", {at.FEATURE_WAY: "visit_way", at.FEATURE_SETTLE_WAY: "settle_way"}, _steers),
    Feature("values.bank_conflicts", {at.FEATURE_BANKS: "bank_conflicts"}, _has_conflicts),
    Feature(
        "rare.simd_groups",
        {at.FEATURE_SIMD_READY: "simd_ready", at.FEATURE_SIMD: "simd_group"},
        _has_simd,
    ),
    Feature(
        "rare.races",
        {at.FEATURE_RACES: "operation_races", at.FEATURE_SCALAR_RACES: "scalar_races"},
        _runs_beside,
    ),
    Feature(
        "rare.unwritten",
        {at.FEATURE_UNWRITTEN: "operation_reads", at.FEATURE_SCALAR_UNWRITTEN: "scalar_reads"},
        _keeps_written,
    ),
    Feature("values.arithmetic", {at.FEATURE_VALUE: "uncommon_value"}, _has_other_values),
    Feature("values.lines", {at.FEATURE_LINES: "other_lines"}, _has_other_lines),
)


def load_features(store: at.Table, parts: StoreLayout) -> None:
    """Write the addresses of the rare kernels that a program needs into its store.

    parts: where each table of the program is. The addresses are valid in this process only.
    """
    needed = _needed(store, parts)
    compile_features(_names(needed))  # the engine itself is not needed by all who load a program
    for feature in needed:
        for number, name in feature.entries.items():
            store[at.S_FEATURES + number] = feature_address(feature.module, name)


def is_loaded() -> bool:
    """Return whether the engine has run in this process; rare features are compiled on demand."""
    return run.is_loaded


def compile_needed(store: at.Table, parts: StoreLayout) -> None:
    """Compile the kernels of a program's run that are not on disk, the engine's own included.

    parts: where each table of the program is.
    """
    compile_entries(_names(_needed(store, parts)))


def engine_kernels() -> list[Kernel]:
    """Return the kernels of the engine that Python calls, with those of all rare features."""
    rare = [(feature.module, name) for feature in FEATURES for name in feature.entries.values()]
    return [*(feature_kernel(*kernel) for kernel in rare), run, schedule_all, follow]


def _needed(store: at.Table, parts: StoreLayout) -> list[Feature]:
    """Return the rare features that a program needs."""
    program = LoadedProgram(store, parts)
    return [feature for feature in FEATURES if feature.needed(program)]


def _names(features: list[Feature]) -> tuple[tuple[str, str], ...]:
    """Return the module and the name of each kernel of some features."""
    return tuple((f.module, name) for f in features for name in f.entries.values())


@cache
def feature_address(module: str, name: str) -> int:
    """Return the machine code address of a rare feature's kernel, compiled or from the disk.

    Without compiled kernels it is the place of the Python function in a list, from 1.
    """
    kernel = feature_kernel(module, name)
    address = kernel.address()
    if address is None:  # un-jitted, or it needs numba's own functions
        from tilewright.simulator.engine.jit import address_of

        address = address_of(kernel.python())
    return address
