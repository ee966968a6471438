"""Put numbers into steps that name their rates: joules and seconds per value, sizes of memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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

    def _step(self, step: ProgramStep) -> ProgramStep:
        if isinstance(step, ChargeStep):
            return replace(step, terms=self._sorted(step.terms))
        if isinstance(step, SpatialStep):
            added = tuple(sorted(map(self._amount, step.added)))
            return replace(step, added=added, charges=tuple(map(self._sorted, step.charges)))
        if isinstance(step, PaymentStep):
            limits = tuple(map(self._limit, step.limits))
            return replace(step, refunds=self.terms(step.refunds), limits=limits)
        return step

    def _sorted(self, terms: Iterable[CostTerm]) -> tuple[CostTerm, ...]:
        """Return terms in the order of their numbers, in which they are added up."""
        return tuple(sorted(term for term in self.terms(terms) if term.factor != 0.0))

    def _amount(self, amount: ChoiceAmount) -> ChoiceAmount:
        if amount.rate == IN_NUMBERS:
            return amount
        rate = self.rates[amount.rate]
        return ChoiceAmount(amount.field, tuple(rate * value for value in amount.values))

    def _limit(self, limit: FieldLimit) -> FieldLimit:
        return limit._replace(capacity=self.capacities.get(limit.field, limit.capacity))
