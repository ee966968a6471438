"""The shipped grid has the rates of the machine: its model takes no longer than an execution."""

from __future__ import annotations

from fractions import Fraction

import pytest
from explore import at_night

from tilewright.arch import flatten, load_arch
from tilewright.mapper import evaluate, load_workload
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator import GridRequest, execute, map_on_grid
from tilewright.simulator.profiles.profile import load_profile
from tilewright.studies import path_of

WAFER = path_of("hardware", "wafer_grid")
WSE2 = load_profile("wse2-sdk-sim")
MULTIPLY_ADD = {16: "fmach", 32: "fmacs"}
PRODUCTS = {
    "matrix times vector": "Z[m] = A[m, k] * B[k]",
    "product of matrices": "Z[m, n] = A[m, k] * B[k, n]",
}


def product(form: str, bits: int, persistent: str = "~All") -> Workload:
    return load_workload(
        f"workload:\n  rank_sizes: {{M: 48, K: 40, N: 24}}\n  bits_per_value: {{All: {bits}}}\n"
        f'  persistent_tensors: {persistent}\n  einsums: ["{PRODUCTS[form]}"]\n'
    )


@pytest.mark.parametrize("bits", MULTIPLY_ADD)
def test_rates_are_those_of_the_profile(bits: int) -> None:
    scope = product("matrix times vector", bits).scope("Z")
    flat = flatten(load_arch(WAFER), scope)[0]
    clock = WSE2.clock_hz
    engine = flat.component("Engine").action("compute").throughput / clock
    assert engine == 1 / WSE2.operations[MULTIPLY_ADD[bits]].per_element(2)
    memory = flat.component("SRAM")
    values = Fraction(32, bits)  # in an action of 32 bits
    # A column of the matrix and the sums are read, the sums are written.
    assert memory.action("read").throughput * values >= 2 * engine * clock
    assert memory.action("write").throughput * values >= engine * clock
    host = flat.component("Host").action("read").throughput / clock
    assert host == 2 * 4  # a word at each place of two sides
    assert load_arch(WAFER).variables["CHANNELS"] == WSE2.border_channels
    links = flat.component("Fabric").action("hop").throughput / clock
    assert links == 4 * 4 * 4 / WSE2.cycles_per_wavelet  # four links of each of 4 x 4 elements


@pytest.mark.parametrize("persistent", ["~All", *at_night("A")])
@pytest.mark.parametrize("bits", [16, *at_night(32)])
@pytest.mark.parametrize("form", PRODUCTS)
def test_the_model_of_a_mapping_takes_no_longer_than_its_execution(
    form: str, bits: int, persistent: str
) -> None:
    arch, workload = load_arch(WAFER), product(form, bits, persistent)
    answer = map_on_grid(arch, workload, GridRequest(objective="latency"))
    executed = execute(arch, workload, answer.mapping)
    model = evaluate(arch, workload, answer.mapping)
    seconds = executed.cycles / WSE2.clock_hz
    assert seconds / 3 <= model.latency <= seconds
