"""Running random programs: the whole result as one digest, and with the kernels interpreted."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine_programs import Case, random_changes

from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import (
    ACCUMULATOR,
    BACKPRESSURE,
    CONFLICT,
    DEPENDENT,
    WAVELETS,
    RunResult,
)

HERE = Path(__file__).resolve().parent


def run(case: Case, changes: dict[str, object], shuffle: int = 0) -> RunResult:
    """Run a case on a changed generic profile; `shuffle`: another order of visits."""
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


def check_values(case: Case, result: RunResult) -> None:
    """Compare buffers and streams with what numpy predicts."""
    for name, expected in case.expected.items():
        np.testing.assert_array_equal(result.memory[name], expected)
    for name, expected in case.streams.items():
        np.testing.assert_array_equal(result.edges[name].values, expected)


def check_accounts(result: RunResult) -> None:
    """Check that every cycle of an element and every word of a link is accounted for."""
    assert (result.trace.element_cycles.sum(axis=-1) == result.cycles).all()
    assert (result.trace.element_cycles >= 0).all()
    check_stalls(result)
    counts, links = result.counts, result.trace.link_words
    assert counts.wavelet_hops + counts.edge_out_words == links[:, :, :4].sum()
    assert counts.ramp_in_words == links[:, :, 4].sum()


def check_stalls(result: RunResult) -> None:
    """Check that busy, idle and stalled cycles are the run, and that the timeline shows them."""
    by_reason = result.trace.cycles_by_reason()
    assert min(by_reason.values()) >= 0
    assert sum(by_reason.values()) == result.cycles * result.trace.element_cycles[..., 0].size
    stalled = np.zeros_like(result.trace.stall_cycles)
    for row, column, reason, start, end in result.trace.stalls.tolist():
        assert end > start
        stalled[row, column, reason] += end - start
    counted = result.trace.stall_cycles
    if len(result.trace.timeline):
        shown = [CONFLICT, ACCUMULATOR, WAVELETS, BACKPRESSURE]
        assert np.array_equal(stalled[..., shown], counted[..., shown])
        # operations that never end are not in the timeline
        assert (stalled[..., DEPENDENT] <= counted[..., DEPENDENT]).all()


def digests(case_of: Callable[[int], Case], count: int) -> list[str]:
    """Return the digests of the first cases."""
    return [digest(run(case_of(seed), random_changes(seed + 1))) for seed in range(count)]


def interpreted_digests(maker: str, count: int) -> list[str]:
    """Return the same from a process in which the kernels are plain Python.

    `maker`: where the cases come from, "module:function" of this folder.
    """
    module, name = maker.split(":")
    code = (
        f"import json; from {module} import {name}; from run_cases import digests;"
        f" print(json.dumps(digests({name}, {count})))"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))
