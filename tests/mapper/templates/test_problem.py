"""The facts that the templates of a mapspace share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from buffer_spaces import space

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.conventions import DEFAULT, conventions_called
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.required_tile_shape import required_tile_shape
from tilewright.mapper.templates.slots import Fill, Reservation
from tilewright.mapper.workload.workload_loading import load_workload


def test_levels_and_holders_of_the_path() -> None:
    problem = space().problem
    assert [problem.level(name) for name in ("DRAM", "BUF", "PE", "MAC")] == [0, 1, 2, 3]
    assert problem.holder("BUF").name == "BUF"
    assert not problem.has_networks
    assert problem.first_network == 4


def test_bits_of_a_reservation() -> None:
    problem = space(size=96).problem
    slot = problem.reservation(Holder("A", "BUF"))
    assert slot == Reservation("A", "BUF")
    assert problem.value_bits(slot) == 8  # bits_per_value of the workload
    assert problem.capacity_bits(slot) == 96
    assert problem.capacity_bits(replace(slot, places=3)) == 288
    assert problem.can_overflow((slot,))  # A has 4 * 6 values of 8 bits
    assert not space(size=192).problem.can_overflow((slot,))


@pytest.mark.parametrize(("size", "fits"), [(23, False), (24, True)])
def test_one_value_of_each_tensor_must_fit(size: int, fits: bool) -> None:
    room = space(size=size)
    assert {room.problem.fits_single_values(template) for template in room.templates} == {fits}


def test_a_changed_problem_is_a_new_value_with_empty_caches() -> None:
    room = space("keep: weight")
    (template,) = room.templates
    loops = room.problem.spatial_loops(template)
    changed = replace(room.problem, lists_lane_choices=True)
    assert changed != room.problem
    assert replace(changed, lists_lane_choices=False) == room.problem
    assert changed.spatial_loops(template) == loops
    assert not changed.slot_sequences


def test_variables_that_stay_distributed() -> None:
    problem = space().problem
    assert problem.shared_variables(frozenset({"A"}), "relevant") == ("m", "k")
    assert problem.shared_variables(frozenset({"A", "B"}), "relevant") == ("k",)
    assert problem.shared_variables(frozenset({"A"}), "irrelevant") == ("n",)


def test_tiles_that_an_uneven_loop_may_cut() -> None:
    room = replace(space(), uneven=frozenset("m"))
    assert room.problem.cuttable_tiles == {"m": (1, 2, 4)}
    average = replace(room, conventions="accelforge")
    assert average.problem.cuttable_tiles == {"m": (4,)}


@pytest.mark.row("001.60")
def test_the_first_holder_of_a_memory_has_its_tile_shape() -> None:
    rules = "keep: All, tile_shape: [{expression: k, operator: ==, value: 2}]"
    room = space(rules)
    for template in room.templates:
        first = next(h for h in template.holders if h.component == "BUF")
        for holder in template.holders:
            fill = Fill(holder.tensor, holder.component, holder.backing)
            shape = required_tile_shape(room.problem, template, fill)
            assert [c.value for c in shape] == ([2] if holder == first else [])
    other = replace(room.problem, conventions=conventions_called("accelforge"))
    assert room.problem.conventions == DEFAULT
    fill = Fill("A", "BUF", backing=False)
    assert not any(required_tile_shape(other, template, fill) for template in room.templates)


APART = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, tensors: {keep: ~weight & ~output, may_keep: output}, COST}
  - !Container {name: PE, spatial: [{name: x, fanout: 2}]}
  - !Memory {name: REG, size: inf, tensors: {keep: All}, COST}
  - !Compute {name: MAC, area: 0, leak_power: 0, actions: [{name: compute, RATE}]}
"""


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_lanes_above_an_output_divide_no_sums(conventions: str) -> None:
    """Z in DRAM joins what both lanes add up over k; two registers alone do not."""
    both = "area: 0, leak_power: 0, actions: [{name: read, RATE}, {name: write, RATE}]"
    work = load_workload(
        "workload:\n  rank_sizes: {M: 2, K: 2}\n  bits_per_value: {All: 1}\n  einsums:\n"
        '  - {einsum: "Z[m] = A[m, k] * B[k]", renames: {input: A, weight: B, output: Z}}\n'
    )
    (einsum,) = work.einsums
    text = APART.replace("COST", both).replace("RATE", "energy: 1, throughput: 1")
    (flat,) = flatten(load_arch(text), work.scope(einsum))
    room = Mapspace(einsum, flat, conventions)
    seen = set()
    for template in room.templates:
        in_dram = any(h.tensor == "Z" and h.component == "DRAM" for h in template.holders)
        (lanes,) = room.problem.spatial_loops(template)
        seen.add(in_dram)
        divided = {v for v, *n in zip(lanes.variables, *lanes.choices, strict=True) if max(n) > 1}
        is_loose = in_dram or conventions == "accelforge"
        assert divided == ({"m", "k"} if is_loose else {"m"})
    assert seen == {True, False}
