"""Speed of candidates of a search on a grid, executed or timed: rows of engine_speed.py's page."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median

from tilewright.arch.compiled import rare_collections
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.compile.fabric.topology import forget_networks
from tilewright.simulator.fast.fast_entries import OF_TIMES
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of

HARDWARE = Path(__file__).resolve().parents[1] / "studies" / "hardware" / "wafer_grid.yaml"
LOOKED_AT = 60
"""Candidates that are timed."""
EVERYTHING = 1 << 60
"""Words of an element: no family is left out."""


def gemv_search(size: int, grid: int) -> CandidateSearch:
    """Return a search for a matrix of f16 in the elements times a vector, nothing looked at yet."""
    text = (
        f"workload:\n  rank_sizes: {{M: {size}, K: {size}}}\n  bits_per_value: {{All: 16}}\n"
        '  persistent_tensors: A\n  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
    )
    arch = load_arch(HARDWARE, variables={"GridX": grid, "GridY": grid})
    workload = load_workload(load_document("gemv.yaml", text=text))
    cascade = cascade_of(arch, workload, GridRequest(exchanges=False))
    search = cascade.options[0][0].search(EVERYTHING)
    assert search is not None
    return search


def first_choices(search: CandidateSearch, most: int) -> list[GridChoice]:
    """Return choices of the families of the least bounds that the machine can run."""
    return list(islice((c for c in _choices(search) if _is_built(search, c)), most))


def _choices(search: CandidateSearch) -> Iterator[GridChoice]:
    candidates = search.candidates
    families = sorted(candidates.families, key=lambda bounded: bounded.bound)
    return (choice for f in families for choice in candidates.space.members(f.family))


def _is_built(search: CandidateSearch, choice: GridChoice) -> bool:
    candidates = search.candidates
    try:
        Machine(program_of(candidates.plan(choice)), candidates.quick.profile)
    except ProgramError:
        return False
    return True


def compile_fast_engine() -> None:
    """Compile the kernels of the fast engine that are not on disk: short runs would not."""
    for kernel in OF_TIMES:
        kernel.address()


def small_rows(size: int, grid: int) -> Iterator[tuple[str, ...]]:
    """Time candidates as a search looks at them, without values, and those that run on numbers.

    Those of other sizes come first, so that the families of the codes are known.
    """
    for more in (2, 4, 6, 8):
        _seconds(gemv_search(size + more * grid, grid), Candidates.simulated_value)
    search = gemv_search(size, grid)
    for how, look in (
        ("cycles, in a search", Candidates.simulated_value),
        ("executed on numbers", Candidates.execute),
    ):
        looked_at, seconds = _seconds(search, look)
        yield (
            f"{size} x {size} on {grid} x {grid}",
            how,
            f"{looked_at / sum(seconds):.0f} a second",
            f"{len(seconds) / sum(seconds):.0f} a second",
        )


Look = Callable[[Candidates, GridChoice], object]


def _seconds(search: CandidateSearch, look: Look) -> tuple[int, list[float]]:
    """Look at the first candidates, nothing known before: their number, and seconds of those run.

    Some are not run: their cycles are those of the transposed one.
    """
    candidates = replace(search.candidates, known_cycles={})  # without plans of earlier looks
    forget_networks()
    seconds: list[float] = []
    looked_at = 0
    for choice in _choices(search):
        is_known = choice in candidates.known_cycles
        begun = time.process_time()
        try:
            candidates.bound(choice, followed=True)
            look(candidates, choice)
        except ProgramError:
            continue
        looked_at += 1
        if not is_known or look is Candidates.execute:
            seconds.append(time.process_time() - begun)
        if looked_at == LOOKED_AT:
            break
    return looked_at, seconds


def timed_rows(size: int, grid: int) -> Iterator[tuple[str, ...]]:
    """Time candidates by their pattern, then the run of the best one on numbers."""
    search = gemv_search(size, grid)
    search.start()
    seconds, proved, choices = list[float](), 0, first_choices(search, 24)
    for choice in choices:
        is_known = choice in search.candidates.known_cycles  # by the transposed one
        begun = time.process_time()
        proved += search.candidates.timed_value(choice) is not None
        if not is_known:
            seconds.append(time.process_time() - begun)
    name = f"{size} x {size} on {grid} x {grid}"
    share = f"{proved} of {len(choices)} proved"
    yield name, "cycles by the pattern", "", f"{median(seconds):.2f} s, {share}"
    begun = time.process_time()
    run = search.run_best()
    assert run is not None
    yield name, f"{run.cycles} cycles on numbers", "", f"{time.process_time() - begun:.1f} s"


def candidate_rows() -> Iterator[tuple[str, ...]]:
    """Return the rows of the table, the names of its columns first."""
    yield "matrix times vector, f16", "how", "looked at", "run"
    compile_fast_engine()
    gc.collect()
    gc.freeze()  # a search is a process of its own: what other sections left does not slow it
    with rare_collections():  # as in a search
        yield from small_rows(128, 8)
        yield from small_rows(512, 32)
        yield from timed_rows(16384, 512)
