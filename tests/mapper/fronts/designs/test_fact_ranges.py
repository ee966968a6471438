"""The ranges of a family of designs, and where a design lies in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.mapper.fronts.designs.design_facts import ActionName, DesignFacts, joined_facts
from tilewright.mapper.fronts.designs.fact_ranges import FactRanges, ranges_of

READ, WRITE, ADD = ("DRAM", "read"), ("DRAM", "write"), ("MAC", "compute")
X = ("PE", "x")
BASE = DesignFacts({"BUF": 64.0}, {X: 4}, {READ: 4.0, WRITE: 5.0, ADD: 1.0}, {"BUF": 2.0})


def with_energies(*pairs: tuple[ActionName, float]) -> DesignFacts:
    return replace(BASE, energies={**BASE.energies, **dict(pairs)})


PRICES = [with_energies((READ, 4.0 + 2 * n), (WRITE, 5.0 + n)) for n in range(3)]
"""A knob makes a read cost 4, 6 or 8 J, and a write 5, 6 or 7 J."""
SIZES = [replace(BASE, sizes={"BUF": bits}, watts={"BUF": bits / 32}) for bits in (32.0, 64.0)]
ADDERS = [with_energies((ADD, joules)) for joules in (1.0, 3.0)]


def ranges(*knobs: list[DesignFacts]) -> FactRanges:
    known = ranges_of(BASE, knobs)
    assert known is not None
    return known


def test_energies_that_move_in_step_are_one_group() -> None:
    family = ranges(PRICES)
    assert family.groups == ({READ: 4.0, WRITE: 2.0},)
    place = family.place(with_energies((READ, 6.0), (WRITE, 6.0)))
    assert place is not None
    assert place.shares == (0.5,)


def test_energies_that_move_in_other_steps_are_two_groups() -> None:
    bent = [with_energies((READ, r), (WRITE, w)) for r, w in ((4, 5), (5, 6), (8, 7))]
    assert ranges(bent).groups == ({READ: 4.0}, {WRITE: 2.0})


def test_further_prices_are_the_corners_of_all_groups() -> None:
    family = ranges(PRICES, ADDERS)
    assert family.energies == {READ: 4.0, WRITE: 5.0, ADD: 1.0}
    first, second = {READ: 4.0, WRITE: 2.0}, {ADD: 2.0}
    assert family.prices == (first, second, first | second)


def test_sizes_rise_and_leakage_is_the_least() -> None:
    family = ranges(SIZES)
    assert family.sizes == {"BUF": (32.0, 64.0)}
    assert family.fanouts == {}
    assert family.watts == 1.0
    assert family.has_largest_base
    place = family.place(SIZES[1])
    assert place is not None
    assert (place.sizes, place.watts) == ((64.0,), 1.0)
    small = ranges_of(SIZES[0], [SIZES])
    assert small is not None
    assert not small.has_largest_base


@pytest.mark.parametrize(
    "stranger",
    [
        replace(BASE, sizes={"BUF": 48.0}),
        replace(BASE, fanouts={X: 8}),
        with_energies((READ, 10.0), (WRITE, 8.0)),
        with_energies((READ, 6.0), (WRITE, 5.0)),
        with_energies((ADD, 2.0)),
        replace(BASE, watts={"BUF": 0.5}),
    ],
    ids=["size", "fanout", "beyond", "out of step", "other action", "leaks less"],
)
def test_a_design_outside_the_family_has_no_place(stranger: DesignFacts) -> None:
    assert ranges(PRICES, SIZES).place(stranger) is None


def test_knobs_that_move_one_energy_together_make_no_family() -> None:
    assert ranges_of(BASE, [PRICES, [BASE, with_energies((READ, 9.0))]]) is None


def test_a_family_has_few_groups_and_no_negative_energy() -> None:
    names = [("C", str(n)) for n in range(4)]
    base = replace(BASE, energies=dict.fromkeys(names, 1.0))
    knobs = [[base, replace(base, energies={**base.energies, name: 2.0})] for name in names]
    assert ranges_of(base, knobs[:3]) is not None
    assert ranges_of(base, knobs) is None
    assert ranges_of(BASE, [[BASE, with_energies((ADD, -1.0))]]) is None


def test_parts_of_a_design_must_not_contradict_each_other() -> None:
    other = DesignFacts({"REG": 8.0}, {X: 4}, {ADD: 1.0}, {})
    joined = joined_facts([BASE, other])
    assert joined is not None
    assert joined.sizes == {"BUF": 64.0, "REG": 8.0}
    assert joined_facts([BASE, replace(other, fanouts={X: 2})]) is None
