"""No candidate of a search runs above the upper bound of its cycles, whatever its Einsum."""

import random

import pytest
from explore import at_night
from grid_mappings import HARDWARE, typed_workload

from tilewright.arch.spec.load import load_arch
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of

FORMS = (
    "matrix product",
    "product with a transpose",
    "both transposed",
    "transposed result",
    "batched product",
    "grouped product",
    "three factors",
    "distance",
    "linear layer",
    "largest of products",
    "scaling of a matrix",
)
NUMBERS = ("f32 f32", "f16 f16", "f16 f32", "i16 i16", "i32 i32")


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 10))])
@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_no_candidate_runs_above_its_bound(machine: str, part: int) -> None:
    rng, known = random.Random(f"{machine} {part}"), 0
    for _ in range(25):
        form = rng.choice(FORMS)
        inputs, output = rng.choice(NUMBERS).split()
        if form in ("distance", "linear layer") and inputs.startswith("i"):
            continue
        sides = {"GridX": rng.randint(1, 4), "GridY": rng.randint(1, 4)}
        request = GridRequest(settings=ExecutionSettings(machine=machine))
        arch, workload = load_arch(HARDWARE, variables=sides), typed_workload(form, inputs, output)
        candidates = cascade_of(arch, workload, request).options[0][0].candidates
        families = [f.family for f in candidates.families if f.family.buffers == 2]
        for family in rng.sample(families, min(len(families), 8)):
            choice = candidates.space.members(family)[0]
            most = candidates.most_cycles(choice)
            if most is not None:
                cycles = candidates.simulated_cycles(choice)
                assert cycles <= most <= 2 * cycles, (form, inputs, family)
                known += 1
    assert known >= 4
