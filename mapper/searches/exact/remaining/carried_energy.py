"""Bound what becomes of the joules that labels carry until the lanes above are known.

A label (a partial mapping's tuple of costs) carries a count in a column of its own, each spatial
choice on the way up multiplies it, and a payment adds it to the energy (deferred_costs.py). Seen
from a step below the payment, the product of the factors still to come lies between the least and
the greatest choice of each dimension (theory/lattice.md §6.1).

Example: 100 J are carried below two dimensions that divide them by 1 or 4 each. At least 100 / 16 J
are paid; above the inner dimension, where the label carries 25 J, at least 25 / 4 J.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.mapper.searches.exact.kernels import ChoiceArrays, Floats


class FactorRange(NamedTuple):
    """The least and the greatest product of the factors that a carried cost is still to get."""

    least: float
    greatest: float


@dataclass(frozen=True, slots=True, eq=False)
class CarriedEnergy:
    """The columns of labels that carry joules at some step, and the factors they still get.

    A label is a partial mapping's tuple of costs. `rows`, shape (fields, 3), sorted by field:
    column of the labels, least factor, greatest factor.
    """

    rows: Floats

    def factors_of(self, field: int) -> FactorRange | None:
        """Return the factors that the joules in column `field` still get.

        None if it carries none here.
        """
        for column, least, greatest in self.rows.tolist():  # few: to index arrays takes longer
            if column == field:
                return FactorRange(least, greatest)
        return None

    def before_payment(self, fields: Iterable[int]) -> CarriedEnergy:
        """Return the columns carried below a payment step.

        Those above it, and `fields`, the columns that the step adds to the energy.
        """
        paid = sorted(set(fields))
        kept = [field not in paid for field in self.rows[:, 0].tolist()]  # others are used again
        above = self.rows[np.array(kept, bool)]
        rows = np.concatenate([above, np.array([(f, 1.0, 1.0) for f in paid]).reshape(-1, 3)])
        return CarriedEnergy(rows[np.argsort(rows[:, 0], kind="stable")])

    def before_choices(self, choices: ChoiceArrays) -> CarriedEnergy:
        """Return what the columns carry below a dimension's spatial loops, where lanes are chosen.

        Each factor range is multiplied by the least and the greatest factor of any choice.
        """
        if not len(self.rows):
            return self
        rows = self.rows.copy()
        factors = choices.linear[:, rows[:, 0].astype(np.int64)]
        rows[:, 1] *= factors.min(axis=0)
        rows[:, 2] *= factors.max(axis=0)
        return CarriedEnergy(rows)


NOTHING_CARRIED = CarriedEnergy(np.zeros((0, 3)))


def join_carried(alternatives: Sequence[CarriedEnergy]) -> CarriedEnergy:
    """Return, per column, the widest range of factors over several ways to go on.

    A column that some way does not carry is empty there, or all of them carry it.
    """
    filled = [carried.rows for carried in alternatives if len(carried.rows)]
    if not filled:
        return NOTHING_CARRIED
    if all(rows is filled[0] for rows in filled):
        return CarriedEnergy(filled[0])
    rows = np.concatenate(filled)
    fields = sorted(set(rows[:, 0].tolist()))
    ranges = [
        (field, rows[rows[:, 0] == field, 1].min(), rows[rows[:, 0] == field, 2].max())
        for field in fields
    ]
    return CarriedEnergy(np.array(ranges))
