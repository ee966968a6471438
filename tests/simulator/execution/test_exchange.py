"""What stays in the elements between Einsums: which tensors, where, with what values."""

import itertools

import numpy as np
import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.arch.files.source import load_document
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.pipelines.einsum_groups import einsum_groups
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Storage,
    Temporal,
)
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.exchange import bank_offsets, intermediates, staying_tensors
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.grid_mapping import map_on_grid

READ_TWICE = cascade_workload("read twice")


def test_intermediates_live_until_their_last_reader() -> None:
    assert intermediates(READ_TWICE) == {"S": 2, "T": 2}
    assert intermediates(cascade_workload("product, row sums")) == {"S": 1}


def test_a_result_lies_apart_from_what_its_einsum_reads() -> None:
    assert bank_offsets(READ_TWICE) == {"S": 4, "T": 0}


def one_element(outside: dict[str, tuple[str, ...]]) -> Mapping:
    """The three Einsums on one element; `outside`: tensors that each stores in the host."""
    tensors = {"S": ("A", "S"), "T": ("S", "T"), "Z": ("S", "T", "Z")}

    def branch(einsum: str) -> tuple[Node, ...]:
        host = (Storage(outside[einsum], "Host"),) if outside[einsum] else ()
        loops = (Temporal("m", 1), Temporal("k", 1)) if einsum == "S" else (Temporal("m", 1),)
        memory = Storage(tensors[einsum], "SRAM")
        return (*host, memory, *loops, ComputeNode(einsum, "Engine"))

    return Mapping((Sequential(tuple(branch(name) for name in tensors)),))


def run(outside: dict[str, tuple[str, ...]]) -> Execution:
    given = {"A": np.arange(16, dtype=np.float32).reshape(4, 4)}
    return execute(cascade_arch(1, 1), READ_TWICE, one_element(outside), operands=given)


INSIDE = {"S": ("A",), "T": (), "Z": ("Z",)}


def test_values_are_handed_on_in_the_memory() -> None:
    sums = np.arange(16.0).reshape(4, 4).sum(axis=1)
    result = run(INSIDE)
    np.testing.assert_array_equal(result.values["Z"], sums**3)
    host = {key: n for key, n in result.counts.items() if "/Host/" in key}
    assert host == {"S/Host/A/read": 16, "Z/Host/Z/write": 4}


def test_addresses_hold_and_do_not_meet() -> None:
    first = [run.plan.addresses.first_word for run in run(INSIDE).einsums]
    assert first[0]["S"] == first[1]["S"] == first[2]["S"]
    assert first[1]["T"] == first[2]["T"]
    places = sorted((first[2][name], first[2][name] + 8) for name in ("S", "T", "Z"))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))


def test_by_way_of_the_host_it_takes_words_over_the_border() -> None:
    apart = run({"S": ("A", "S"), "T": ("S", "T"), "Z": ("S", "T", "Z")})
    assert apart.counts["S/Host/S/write"] == apart.counts["Z/Host/S/read"] == 4
    assert apart.cycles > run(INSIDE).cycles
    np.testing.assert_array_equal(apart.values["Z"], run(INSIDE).values["Z"])


def test_a_tensor_outside_for_one_einsum_only_is_refused() -> None:
    mapping = one_element({"S": ("A", "S"), "T": (), "Z": ("S", "Z")})
    grid = grid_of(grid_path(cascade_arch(1, 1), READ_TWICE, READ_TWICE.einsums[0]))
    groups = einsum_groups(mapping, READ_TWICE, grid)
    by_einsum = {name: own for group in groups for name, own in group.mappings.items()}
    with pytest.raises(InfeasibleMapping, match="S is in Host for Einsum S, but not for T") as why:
        staying_tensors(by_einsum, READ_TWICE, "Host")
    assert "for all of S, T, Z, or none" in str(why.value)


def test_an_input_has_all_positions_that_any_einsum_reads() -> None:
    text = """
    workload:
      rank_sizes: {I: 5}
      bits_per_value: {All: 32}
      einsums:
        - "Y[i] = X[i] * B[H: i]"
        - "Z[i] = Y[i] + B[H: i + 3]"
    """
    workload, arch = load_workload(load_document("w.yaml", text=text)), cascade_arch(2, 2)
    mapping = map_on_grid(arch, workload).mapping
    for given in ({}, {"B": np.arange(8)}):
        values = execute(arch, workload, mapping, operands=given).values
        x, b = values["X"], values["B"]
        np.testing.assert_allclose(values["Z"], x * b[:5] + b[3:], rtol=1e-5)
        assert b.shape == (8,)
        assert b[5:].all()
