"""What an Einsum and an architecture bring to the model: tiles, relevance, scales, keys."""

from __future__ import annotations

from fractions import Fraction

import pytest
from running_example import ARCH, view_of

from tilewright.mapper.model.paths.view import (
    IRRELEVANT,
    PARTIAL,
    RELEVANT,
    lowest_terms,
    simple_variables,
    values_per_action,
)


@pytest.mark.parametrize(
    ("index", "tile"),
    [("p + r", 6), ("2*p + r", 9), ("p", 4), ("2*p", 7), ("p - r", 6), ("p + 3", 4)],
)
def test_elements_of_a_tile_are_its_bounding_box(index: str, tile: int) -> None:
    """theory/model.md §1.3, under a tile of p = 4 and r = 3."""
    view = view_of(f"Z[p, r] = A[H: {index} + 5] * B[p, r]", "P: 8, R: 8")
    assert view.tensors["A"].tile({"p": 4, "r": 3}) == tile
    assert view.tensors["B"].tile({"p": 4, "r": 3}) == 12


def test_relevance_of_rank_variables() -> None:
    view = view_of("Z[p, n] = A[H: p + r, C: 2*c] * B[r, c, n]", "P: 4, R: 3, C: 2, N: 5")
    assert view.tensors["A"].relevance == {
        "p": PARTIAL, "n": IRRELEVANT, "r": PARTIAL, "c": RELEVANT,
    }  # fmt: skip
    assert view.tensors["B"].simple == ("r", "c", "n")
    assert view.tensors["A"].simple is None
    assert simple_variables(view.einsum) == {"n"}  # p + r and 2*c take the others


def test_one_operation_reads_inputs_and_updates_the_output() -> None:
    tensors = view_of().tensors
    assert (tensors["A"].leaf, tensors["A"].accumulates) == ((1, 0, 0), False)
    assert (tensors["Z"].leaf, tensors["Z"].accumulates) == ((1, 1, 1), True)
    reading = view_of(arch=ARCH.replace("name: MAC\n", "name: MAC\n"
                      "    skip_initial_output_write: false\n")).tensors  # fmt: skip
    assert reading["Z"].leaf == (1, 1, 0)


def test_holders_have_actions_per_value() -> None:
    arch = ARCH.replace(
        "    size: 64\n",
        "    size: 64\n    bits_per_action: 6\n    bits_per_value: {A: 4, Other: 2}\n"
        "    values_per_action: {B: 5}\n    actions_scale: 3\n",
    )
    view = view_of(arch=arch)
    held = {name: view.holder("BUF", name) for name in "ABZ"}
    assert held["A"].read_scale == 2  # 3 / (6 / 4): 3/2 values per action
    assert held["B"].read_scale == Fraction(3, 5)
    assert (held["Z"].write_scale, held["Z"].bits_per_value) == (1, 2)
    assert (held["A"].read_key, held["A"].usage_key) == ("Z/BUF/A/read", "Z/BUF/A")
    assert held["A"] is view.holder("BUF", "A")
    read = view.component("BUF").action("read")
    assert values_per_action(read, view.tensors["A"], {"A": Fraction(4)}) == Fraction(3, 2)


@pytest.mark.parametrize(
    ("direction", "down", "up"),
    [("down", True, False), ("up", False, True), ("up_and_down", True, True)],
)
def test_tolls_charge_by_direction_and_write_nothing(direction, down, up) -> None:
    toll = (
        f"  - !Toll {{name: LINK, direction: {direction}, area: 0, leak_power: 0, "
        "actions: [{name: read, energy: 7, throughput: 1}]}\n  - !Compute"
    )
    holder = view_of(arch=ARCH.replace("  - !Compute", toll)).holder("LINK", "A")
    assert (holder.is_toll, holder.down, holder.up) == (True, down, up)
    assert (holder.read_energy, holder.write_scale) == (7.0, 0)


def test_networks_are_found_with_their_place() -> None:
    network = (
        "  - !Network {name: NOC, area: 0, leak_power: 0, bits_per_action: 4, "
        "actions: [{name: hop, energy: 3, throughput: 1, latency: 1}]}\n  - !Compute"
    )
    view = view_of(arch=ARCH.replace("  - !Compute", network))
    assert [(place, component.name) for place, component in view.networks] == [(2, "NOC")]
    seen = view.network("NOC", "A")
    assert (seen.scale, seen.energy, seen.key) == (Fraction(1, 4), 3.0, "Z/NOC/A/hop")
    assert seen is view.network("NOC", "A")


def test_whole_fractions_are_ints() -> None:
    assert type(lowest_terms(Fraction(6, 3))) is int
    assert lowest_terms(Fraction(1, 3)) == Fraction(1, 3)
