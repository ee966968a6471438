"""Kernels of rare features: loaded where a program needs them, and missing ones are noticed."""

import numpy as np
import pytest
from special_programs import special_case

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine import features
from tilewright.simulator.engine.engine_entries import feature_kernel
from tilewright.simulator.engine.jit import UNJITTED
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine


def loaded(program: Program) -> set[str]:
    machine = Machine(program, load_profile("generic"))
    loaded_program = features.LoadedProgram(machine.compiled.store, machine.compiled.parts)
    return {feature.module for feature in features.FEATURES if feature.needed(loaded_program)}


def single(operation: str, dtype: str) -> Program:
    b = ProgramBuilder("single", 1, 1)
    code = b.code("only")
    code.buffer("v", dtype, 4)
    code.mem1d("all", "v", 4)
    code.task("main", entry=True).op(operation, "all", "all", "all")
    b.place("only", Area(0, 0))
    return b.build()


def test_plain_program_needs_none() -> None:
    assert loaded(chain_reduce(3, 4)) == set()
    assert loaded(single("fadds", "f32")) == loaded(single("sub16", "i16")) == set()


def test_other_types_need_their_values() -> None:
    needed = {"values.arithmetic", "values.lines"}
    assert loaded(single("faddh", "f16")) == loaded(single("and16", "i16")) == needed


def test_special_programs_need_theirs() -> None:
    found = set().union(*(loaded(special_case(seed).program) for seed in range(60)))
    assert found >= {"rare.special_operations", "rare.rare_control", "arrivals", "switch"}


def test_a_map_needs_its_loop() -> None:
    b = ProgramBuilder("mapped", 1, 1)
    code = b.code("only")
    code.buffer("v", "i16", 4)
    code.mem1d("all", "v", 4)
    task = code.task("main", entry=True)
    with task.map(("x", "all"), output=("y", "all")):
        task.compute("y", "add", "x", "x", dtype="i16")
    b.place("only", Area(0, 0))
    assert loaded(b.build()) == {"rare.map_loop", "rare.rare_control"}


def test_a_missing_kernel_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(single("faddh", "f16"), load_profile("generic"))
    v = np.full((1, 1, 4), 1.5, np.float16)
    assert (machine.run(memory={"v": v}).memory["v"] == 3).all()
    monkeypatch.setattr(
        "tilewright.simulator.run.run_data.load_features", lambda store, parts: None
    )
    with pytest.raises(MachineError, match="a kernel that the program needs is not loaded"):
        machine.run(memory={"v": v})
    assert at.FEATURES <= at.WHEEL_AT - at.S_FEATURES


@pytest.mark.skipif(UNJITTED, reason="numba is switched off")
@pytest.mark.parametrize("feature", features.FEATURES, ids=lambda feature: feature.module)
def test_kernels_run_without_numba(feature: features.Feature) -> None:
    for name in feature.entries.values():
        assert feature_kernel(feature.module, name).address() is not None
