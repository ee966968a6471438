"""Put numbers into steps that name their rates: joules and seconds per value, sizes of memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.arch.components.components import Memory
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChoiceAmount, CostTerm
from tilewright.mapper.searches.program.program import (
    ChargeStep,
    FieldLimit,
    PaymentStep,
    ProgramStep,
    SpatialStep,
)
from tilewright.mapper.searches.program.rates import IN_NUMBERS
from tilewright.mapper.templates.problem import Problem


@dataclass(frozen=True, slots=True)
class Prices:
    """The numbers of one architecture that steps name.

    `fields`: the columns of labels (cost tuples of partial mappings). `rates`: joules or calls per
    value, by number. `capacities`: bits by the column that holds those in use; the columns left out
    keep theirs.
    """

    fields: LabelFields
    rates: Sequence[float]
    capacities: Mapping[int, float] = field(default_factory=dict)

    def steps(self, steps: Iterable[ProgramStep]) -> tuple[ProgramStep, ...]:
        """Return steps of the dynamic program with all their costs in numbers."""
        return tuple(map(self._step, steps))

    def terms(self, terms: Iterable[CostTerm]) -> tuple[CostTerm, ...]:
        """Return cost terms in numbers, in the same order."""
        return tuple(
            term
            if term.rate == IN_NUMBERS
            else term._replace(factor=self.rates[term.rate] * term.factor, rate=IN_NUMBERS)
            for term in terms
        )

    def sorted_terms(self, terms: Iterable[CostTerm]) -> tuple[CostTerm, ...]:
        """Return cost terms in numbers, without zeros, in the order in which they are added up."""
        return tuple(sorted(term for term in self.terms(terms) if term.factor != 0.0))

    def _step(self, step: ProgramStep) -> ProgramStep:
        if isinstance(step, ChargeStep):
            return replace(step, terms=self.sorted_terms(step.terms))
        if isinstance(step, SpatialStep):
            added = tuple(sorted(map(self._amount, step.added)))
            return replace(step, added=added, charges=tuple(map(self.sorted_terms, step.charges)))
        if isinstance(step, PaymentStep):
            limits = tuple(map(self._limit, step.limits))
            return replace(step, refunds=self.terms(step.refunds), limits=limits)
        return step

    def _amount(self, amount: ChoiceAmount) -> ChoiceAmount:
        if amount.rate == IN_NUMBERS:
            return amount
        rate = self.rates[amount.rate]
        return ChoiceAmount(amount.field, tuple(rate * value for value in amount.values))

    def _limit(self, limit: FieldLimit) -> FieldLimit:
        return limit._replace(capacity=self.capacities.get(limit.field, limit.capacity))


def prices_of(
    problem: Problem, columns: LabelFields, named: LabelFields, *, one_instance: bool
) -> Prices | None:
    """Return the numbers of a problem for steps that name them.

    `columns`: of its labels (cost tuples of partial mappings); `named`: those of the steps, with
    their table of rates. `one_instance`: every memory holds tiles in one instance alone. None if
    the columns or the signs of rates differ, so that the steps would be others.
    """
    if _without_speeds(columns) != _without_speeds(named):
        return None
    rates = named.rates.values(problem, columns)
    if rates is None:
        return None
    sizes = {c.name: float(c.size) for c in problem.components if isinstance(c, Memory)}
    fields_of = columns.used_bits.items() if one_instance else ()
    return Prices(columns, rates, {field: sizes[name] for name, field in fields_of})


def _without_speeds(columns: LabelFields) -> LabelFields:
    return replace(columns, seconds=dict.fromkeys(columns.seconds, 1.0))
