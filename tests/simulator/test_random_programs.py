"""Random programs: values equal numpy's, and nothing depends on the order of visits."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import Case, random_case, random_changes

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


@settings(max_examples=120)
@given(SEEDS, SEEDS)
def test_values_equal_numpy(seed: int, profile_seed: int) -> None:
    case = random_case(seed)
    result = run(case, random_changes(profile_seed))
    for name, expected in case.expected.items():
        np.testing.assert_array_equal(result.memory[name], expected)
    for name, expected in case.streams.items():
        np.testing.assert_array_equal(result.edges[name].values, expected)


@settings(max_examples=60)
@given(SEEDS, SEEDS, st.integers(1, 2**30))
def test_order_of_visits_does_not_matter(seed: int, profile_seed: int, shuffle: int) -> None:
    case, changes = random_case(seed), random_changes(profile_seed)
    assert digest(run(case, changes)) == digest(run(case, changes, shuffle))


@settings(max_examples=60)
@given(SEEDS, SEEDS)
def test_time_is_accounted_for(seed: int, profile_seed: int) -> None:
    result = run(random_case(seed), random_changes(profile_seed))
    assert (result.trace.element_cycles.sum(axis=-1) == result.cycles).all()
    assert (result.trace.element_cycles >= 0).all()
    counts = result.counts
    links = result.trace.link_words
    assert counts.wavelet_hops + counts.edge_out_words == links[:, :, :4].sum()
    assert counts.ramp_in_words == links[:, :, 4].sum()


def digests(count: int) -> list[str]:
    return [digest(run(random_case(seed), random_changes(seed + 1))) for seed in range(count)]


def test_compiled_equals_interpreted() -> None:
    """The same kernels as plain Python give every value, cycle and count alike."""
    code = "import json; from test_random_programs import digests; print(json.dumps(digests(24)))"
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    oracles = os.path.join(here, "..", "oracles")  # noqa: PTH118
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join([here, oracles]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == digests(24)
