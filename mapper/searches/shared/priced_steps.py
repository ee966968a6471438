"""Put numbers into steps that name their rates: joules and seconds per value, sizes of memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.arch.components.components import Memory
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.program.charge_sites import ChoiceAmount, CostTerm
from tilewright.mapper.searches.program.program_steps import (
    ChargeStep,
    FieldLimit,
    PaymentStep,
    ProgramStep,
    SpatialStep,
)
from tilewright.mapper.searches.program.rates import IN_NUMBERS
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.templates.problem import Problem

ExtraJoules = Mapping[tuple[str, str], float]  # (component, action) -> joules more


@dataclass(frozen=True, slots=True)
class Prices:
    """The numbers of one architecture that steps name.

    `fields`: the columns of labels (cost tuples of partial mappings). `rates`: joules or calls per
    value, by number. `capacities`: bits by the column that holds those in use; the columns left out
    keep theirs. `further`: rates at further prices, for which labels have columns of their own.
    """

    fields: LabelFields
    rates: Sequence[float]
    capacities: Mapping[int, float] = field(default_factory=dict)
    further: tuple[Sequence[float], ...] = ()

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
            return replace(step, terms=self._all_terms(step.terms))
        if isinstance(step, SpatialStep):
            return self._spatial_step(step)
        if isinstance(step, PaymentStep):
            limits = tuple(map(self._limit, step.limits))
            moves = step.moves + tuple(
                (self.fields.at_price(field, number), self.fields.at_price(target, number))
                for number in range(len(self.further))
                for field, target in step.moves
                if target == 0
            )
            return replace(step, moves=moves, refunds=self.terms(step.refunds), limits=limits)
        return step

    def _spatial_step(self, step: SpatialStep) -> SpatialStep:
        added = tuple(sorted(map(self._amount, step.added)))
        more_added = tuple(
            ChoiceAmount(
                self.fields.at_price(amount.field, number),
                tuple(rates[amount.rate] * value for value in amount.values),
            )
            for number, rates in enumerate(self.further)
            for amount in step.added
            if self._is_energy(amount)
        )
        more_factors = tuple(
            (self.fields.at_price(field, number), values)
            for number in range(len(self.further))
            for field, values in step.factors
            if self.fields.counts_energy(field)
        )
        charges = tuple(map(self._all_terms, step.charges))
        return SpatialStep(step.loops, added + more_added, step.factors + more_factors, charges)

    def _all_terms(self, terms: Sequence[CostTerm]) -> tuple[CostTerm, ...]:
        """Return cost terms in numbers, with further terms for energy at further prices."""
        more_terms = [
            term._replace(
                field=self.fields.at_price(term.field, number),
                factor=rates[term.rate] * term.factor,
                rate=IN_NUMBERS,
            )
            for number, rates in enumerate(self.further)
            for term in terms
            if self._is_energy(term)
        ]
        return self.sorted_terms(terms) + tuple(sorted(more_terms))

    def _is_energy(self, cost: CostTerm | ChoiceAmount) -> bool:
        """Tell whether a cost is energy; InternalError if it has no rate by name."""
        if not self.fields.counts_energy(cost.field):
            return False
        if cost.rate == IN_NUMBERS:
            raise InternalError("an energy without a rate cannot be told at further prices")
        return True

    def _amount(self, amount: ChoiceAmount) -> ChoiceAmount:
        if amount.rate == IN_NUMBERS:
            return amount
        rate = self.rates[amount.rate]
        return ChoiceAmount(amount.field, tuple(rate * value for value in amount.values))

    def _limit(self, limit: FieldLimit) -> FieldLimit:
        return limit._replace(capacity=self.capacities.get(limit.field, limit.capacity))


def prices_of(
    problem: Problem,
    columns: LabelFields,
    named: LabelFields,
    *,
    one_instance: bool,
    further: Sequence[ExtraJoules] = (),
) -> Prices | None:
    """Return the numbers of a problem for steps that name them.

    `columns`: of its labels (cost tuples of partial mappings); `named`: those of the steps, with
    their table of rates. `one_instance`: every memory holds tiles in one instance alone. `further`:
    joules of actions above those of the problem, for each of further prices. None if the columns
    or the signs of rates differ, so that the steps would be others.
    """
    if _without_speeds(columns) != _without_speeds(named):
        return None
    problems = [problem, *(with_extra_joules(problem, more) for more in further)]
    priced = (named.rates.values(each, columns) for each in problems)
    rates = [values for values in priced if values is not None]
    if len(rates) < len(problems):
        return None
    sizes = {c.name: float(c.size) for c in problem.components if isinstance(c, Memory)}
    fields_of = columns.used_bits.items() if one_instance else ()
    capacities = {field: sizes[name] for name, field in fields_of}
    return Prices(columns, rates[0], capacities, tuple(rates[1:]))


def with_extra_joules(problem: Problem, more: ExtraJoules) -> Problem:
    """Return a problem whose actions cost more, by (component, action), in joules each."""
    components = [
        replace(
            component,
            actions=tuple(
                replace(action, energy=action.energy + more.get((component.name, action.name), 0.0))
                for action in component.actions
            ),
        )
        for component in problem.components
    ]
    return replace(problem, components=tuple(components))


def _without_speeds(columns: LabelFields) -> LabelFields:
    return replace(columns, seconds=dict.fromkeys(columns.seconds, 1.0))
