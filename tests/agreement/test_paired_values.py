"""Two 16-bit values in a wavelet: random mappings run with equal counts, and in no more cycles."""

import random
from collections.abc import Iterator
from typing import cast

import pytest
from explore import at_night
from grid_mappings import FORMS, HARDWARE, random_mapping, typed_workload

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Fabin, Fabout
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
TYPES = [("f16", "f16"), ("f16", "f32"), ("i16", "i16")]


def mappings(first: int, number: int) -> Iterator[tuple[int, SpaceTime]]:
    """Random mappings of values of 16 bits on 4 x 4 elements, with the number that each is from."""
    arch = load_arch(HARDWARE).with_values({"variables.GridX": 4, "variables.GridY": 4})
    for seed in range(first, first + number):
        rng = random.Random(seed)
        form, types = rng.choice(list(FORMS)), rng.choice(TYPES)
        if types[1] == "i16" and form == "difference":
            continue  # sub16 takes no scalar from the register as what is subtracted from
        workload = typed_workload(form, *types)
        einsum = workload.einsums[0]
        try:
            flat = flatten(arch, workload.scope(einsum.name))[0]
            yield seed, space_time(flat, einsum, random_mapping(rng, einsum))
        except InfeasibleMapping:
            continue


def executed(seed: int, read: SpaceTime) -> EinsumExecution | None:
    """Run a mapping, compared with numpy; None if the elements have no program of it."""
    try:
        return execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 3]))
    except InfeasibleMapping:
        return None


def has_pairs(run: EinsumExecution) -> bool:
    dsds = (dsd for role in run.plan.roles for dsd in run.plan.code(role).dsds)
    return any(dsd.simd == "simd_32" for dsd in dsds if isinstance(dsd, Fabin | Fabout))


@pytest.mark.parametrize("first", [0, *at_night(500, 1000, 1500, 2000)])
def test_counts_bounds_and_engines_hold_with_pairs(first: int) -> None:
    paired = proved = 0
    for seed, read in mappings(first, 30):
        run = executed(seed, read)
        if run is None or not has_pairs(run):
            continue
        paired += 1
        assert run.counts == run.predicted, seed
        assert 0 < run.lower_bound_cycles <= run.cycles, seed
        fast = FastMachine(program_of(run.plan), run.profile)
        assert fast.cycles is None or fast.cycles == run.cycles, seed
        proved += fast.certificate.granted
    assert paired >= 12
    assert proved >= paired // 3  # words of wse3-silicon have no whole cycles


def test_no_mapping_takes_more_cycles_with_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    faster = compared = 0
    for seed, read in mappings(300, 25):
        profile = load_profile(MACHINES[seed % 3])
        try:
            with_pairs = Machine(program_of(plan_of(read)), profile).cycles()
            with monkeypatch.context() as patch:
                patch.setattr(SpaceTime, "values_per_wavelet", lambda *_: 1)
                alone = Machine(program_of(plan_of(read)), profile).cycles()
        except InfeasibleMapping:
            continue
        assert cast(int, with_pairs) <= cast(int, alone), seed
        compared, faster = compared + 1, faster + (with_pairs < alone)
    assert faster > compared / 2 > 5


def test_a_tile_of_an_odd_number_of_values_goes_value_by_value() -> None:
    tiles = {"odd": 0, "even": 0}
    for _, read in mappings(600, 60):
        for tensor in read.tensors:
            wide = "32" in read.dtype_of(tensor.name)
            together = read.values_per_wavelet(tensor)
            assert together == (1 if wide or tensor.values % 2 else 2)
            assert together * read.words(tensor) == tensor.values
            tiles["odd" if tensor.values % 2 else "even"] += 1
    assert min(tiles.values()) > 10
