"""Whole operations on lines: the same values as element by element, by rows of two dimensions."""

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import Area, ProgramBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine

PROFILE = load_profile("wse2-sdk-sim")
OPERATIONS = [
    ("fmacs", "f32"), ("fadds", "f32"), ("fmuls", "f32"), ("fmach", "f16"), ("fsubh", "f16"),
    ("add16", "i16"), ("and16", "u16"), ("xor16", "u16"),
]  # fmt: skip


def program(operation: str, dtype: str, *, lines: bool, registers: bool) -> Program:
    """An operation twice on 12 of 24 values, every second one for the second source.

    `lines`: by descriptors of one dimension, else of two, of which the outer has one step.
    `registers`: held in registers that save their address.
    """
    builder = ProgramBuilder("lines", 1, 1)
    code = builder.code("only")
    strides = {"out": 1, "a": 1, "b": 2}
    for name, stride in strides.items():
        code.buffer(name, dtype, 48)
        if lines:
            code.mem1d(f"{name}_line", name, extent=12, stride=stride)
        else:
            code.mem4d(f"{name}_line", name, loops=[(1, 12 * stride), (12, stride)])
    task = code.task("work", entry=True)
    scalar = [0.5] if operation.startswith("fmac") else []
    files = {"out": "dest", "a": "src0", "b": "src1"}
    if registers:
        held = [Register(file, 1) for file in files.values()]
        for number, (register, name) in enumerate(zip(held, files, strict=True)):
            more = (number,) if strides[name] > 1 else ()
            extra = {} if lines else {"xdsr": number, "strides": more}
            task.load(register, f"{name}_line", save_address=True, **extra)
        for _ in range(2):
            task.op(operation, *held, *scalar)
    else:
        for turn in range(2):
            names = [Ref(f"{name}_line").at(12 * turn * step) for name, step in strides.items()]
            task.op(operation, *names, *scalar)
    builder.place("only", Area(0, 0))
    return builder.build()


@pytest.mark.parametrize(("operation", "dtype"), OPERATIONS)
def test_lines_give_what_single_elements_give(operation: str, dtype: str) -> None:
    kinds = {"f32": np.float32, "f16": np.float16, "i16": np.int16, "u16": np.uint16}
    values = np.random.default_rng(0).uniform(-300, 300, (2, 48))
    memory = {
        name: np.abs(v).astype(kinds[dtype])[None, None]
        for name, v in zip("ab", values, strict=True)
    }
    results = [
        Machine(program(operation, dtype, lines=lines, registers=registers), PROFILE).run(
            memory=memory
        )
        for lines in (True, False)
        for registers in (True, False)
    ]
    outputs = [np.asarray(result.memory["out"]).tobytes() for result in results]
    assert len(set(outputs)) == 1
    assert np.asarray(results[0].memory["out"]).ravel()[:24].any()
