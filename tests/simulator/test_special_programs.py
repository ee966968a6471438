"""Random programs with switches, filters, wavelet tasks, FIFOs and registers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import Case, random_changes
from special_programs import special_case

from tilewright.simulator.machine import Machine
from tilewright.simulator.profile import load_profile
from tilewright.simulator.trace import RunResult

SEEDS = st.integers(0, 2**32 - 1)


def run(case: Case, changes: dict[str, object], shuffle: int = 0) -> RunResult:
    machine = Machine(case.program, load_profile("generic").with_values(changes))
    return machine.run(memory=case.memory, edges=case.edges, timeline=True, shuffle=shuffle)


def digest(result: RunResult) -> str:
    """Name everything that a run returns."""
    sha = hashlib.sha256()
    for name, array in sorted(result.memory.items()):
        sha.update(name.encode() + np.ascontiguousarray(array).tobytes())
    for name, stream in sorted(result.edges.items()):
        sha.update(name.encode() + stream.values.tobytes() + stream.cycles.tobytes())
    sha.update(repr((result.cycles, result.counts, result.trace.timeline)).encode())
    sha.update(result.trace.element_cycles.tobytes() + result.trace.link_words.tobytes())
    return sha.hexdigest()


@settings(max_examples=80)
@given(SEEDS, SEEDS, st.integers(1, 2**30))
def test_values_and_no_order_of_visits(seed: int, profile_seed: int, shuffle: int) -> None:
    case, changes = special_case(seed), random_changes(profile_seed)
    result = run(case, changes)
    for name, expected in case.expected.items():
        np.testing.assert_array_equal(result.memory[name], expected)
    for name, expected in case.streams.items():
        np.testing.assert_array_equal(result.edges[name].values, expected)
    assert digest(result) == digest(run(case, changes, shuffle))
    assert (result.trace.element_cycles.sum(axis=-1) == result.cycles).all()
    links = result.trace.link_words
    counts = result.counts
    assert counts.wavelet_hops + counts.edge_out_words == links[:, :, :4].sum()
    assert counts.ramp_in_words == links[:, :, 4].sum()


def digests(count: int) -> list[str]:
    return [digest(run(special_case(seed), random_changes(seed + 1))) for seed in range(count)]


def test_compiled_equals_interpreted() -> None:
    """The same kernels as plain Python give every value, cycle and count alike."""
    code = "import json; from test_special_programs import digests; print(json.dumps(digests(16)))"
    here = Path(__file__).resolve().parent
    paths = os.pathsep.join([str(here), str(here.parent / "oracles")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == digests(16)


def test_programs_differ_in_their_text() -> None:
    """Every kind of program occurs, and their text forms are distinct."""
    from tilewright.simulator.printing import print_program

    programs = [special_case(seed).program for seed in range(12)]
    assert {program.name for program in programs} == {"gather", "scatter", "buffered"}
    texts = {print_program(program) for program in programs}
    assert len(texts) == len({repr(dataclasses.replace(p, placement=None)) for p in programs})  # type: ignore[arg-type]
