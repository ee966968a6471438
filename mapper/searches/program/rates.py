"""What one value adds to the costs of a label, as a number or by name.

A step charges a count of values times a rate, such as joules per value read from a memory. Steps
that name their rates by number hold for every architecture with the same templates; a table of
rates turns them into steps with numbers (searches/shared/priced_steps.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import copysign
from typing import NamedTuple, Protocol

from tilewright.mapper.model.paths.view import Count
from tilewright.mapper.searches.program.edge_traffic import EdgeCharge, charge_rate
from tilewright.mapper.templates.problem import Problem

IN_NUMBERS = -1  # in place of the number of a rate: nothing is left to be multiplied


class Rate(NamedTuple):
    """What one value adds to a column of labels (cost tuples of partial mappings).

    It is `scale`, times the rate of that `number` in a table unless that is IN_NUMBERS.
    """

    scale: float
    number: int = IN_NUMBERS


class TimedColumns(Protocol):
    """The columns of labels that count calls of actions; keys are (level, name of the action)."""

    @property
    def calls(self) -> Mapping[tuple[int, str], int]:
        """Column of each action that takes time."""
        ...

    @property
    def seconds(self) -> Mapping[tuple[int, str], float]:
        """Seconds per call of actions whose columns count seconds.

        Others are computed at the end.
        """
        ...


Rates = Mapping[int, Rate]  # column of the label -> what one value adds to it


@dataclass(frozen=True, slots=True)
class _NamedCharge:
    """A charge with a number for each of its rates, by column of the label.

    `places`: instances of a distributed memory, which share its calls.
    """

    charge: EdgeCharge
    places: Count
    rates: Rates


class RateTable:
    """The rates of all charges of one Einsum's problem, each worked out once.

    `by_name`: rates get numbers, from 0 on, and their scale is the sign alone.
    """

    def __init__(self, by_name: bool = False) -> None:
        self._by_name = by_name
        self._rates: dict[Hashable, Rates] = {}
        self._named: list[_NamedCharge] = []
        self._count = 0

    def rates_of(
        self, problem: Problem, fields: TimedColumns, charge: EdgeCharge, places: Count
    ) -> Rates:
        """Return, per column of a label, what one value of a charge adds; without zeros.

        `places` of a distributed memory share the calls. A label is the tuple of costs of a
        partial mapping.
        """
        last = charge.edge.child is None
        key = (charge.edge.tensor, charge.level, charge.action, charge.sign, places, last)
        if key not in self._rates:
            amounts = _amounts(problem, fields, charge, places)
            rates = {field: self._rate(amount) for field, amount in amounts.items()}
            self._rates[key] = rates
            self._named.append(_NamedCharge(charge, places, rates))
        return self._rates[key]

    def _rate(self, amount: float) -> Rate:
        if not self._by_name:
            return Rate(amount)
        self._count += 1
        return Rate(copysign(1.0, amount), self._count - 1)

    def values(self, problem: Problem, fields: TimedColumns) -> list[float] | None:
        """Return the rates of a problem with the same charges, by number.

        None if some rate is 0 or has another sign there, so that the steps would be others.
        """
        values: list[float] = []
        for named in self._named:
            amounts = _amounts(problem, fields, named.charge, named.places)
            signs = {field: copysign(1.0, amount) for field, amount in amounts.items()}
            if signs != {field: rate.scale for field, rate in named.rates.items()}:
                return None
            values += [abs(amounts[field]) for field in named.rates]
        return values


def _amounts(
    problem: Problem, fields: TimedColumns, charge: EdgeCharge, places: Count
) -> dict[int, float]:
    """Return what one value of a charge adds to each column of labels (signed), without zeros."""
    rate = charge_rate(problem, charge)
    if rate is None:
        return {}
    calls, joules = rate
    rates = {0: calls * joules}
    if (field := fields.calls.get((charge.level, charge.action))) is not None:
        seconds = fields.seconds.get((charge.level, charge.action), 1.0)
        rates[field] = seconds * calls / float(places)
    return {field: rate for field, rate in rates.items() if rate != 0.0}
