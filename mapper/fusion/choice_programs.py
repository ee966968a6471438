"""Compile the inner programs of an Einsum for one choice of tensors on chip, or reuse them.

An inner program is the search program of everything below the tensors on chip. Programs compiled
for another design of the same structure are reused: their costs stand in them by name, and the
numbers of this design are put in afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.mapper.fusion.fused_einsum import FusedEinsum
from tilewright.mapper.fusion.pmappings.fused_templates import (
    FusedTemplate,
    banned_variables,
    fused_templates,
)
from tilewright.mapper.fusion.pmappings.inner_programs import (
    InnerProgram,
    SharingRules,
    inner_programs,
)
from tilewright.mapper.fusion.pmappings.inner_search import InnerTree, inner_tree
from tilewright.mapper.fusion.pmappings.region.fused_loops import legal_places
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.mapspace.template_space import checked
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.label_fields import (
    DeferredCounts,
    LabelFields,
    Leak,
    label_fields,
)
from tilewright.mapper.searches.exact.metric_terms import BackingHolders, backing_holders
from tilewright.mapper.searches.program.deferred_costs import TooFewColumns
from tilewright.mapper.searches.program.program import most_deferred
from tilewright.mapper.searches.program.rates import RateTable
from tilewright.mapper.searches.shared.known_structures import (
    KnownStructures,
    is_comparable,
    structure_key,
)
from tilewright.mapper.searches.shared.mapspace_programs import sampled_templates
from tilewright.mapper.searches.shared.priced_steps import Prices, prices_of
from tilewright.mapper.templates.placement import Placement

SAMPLED = 12  # templates of a placement that tell how many columns the labels need


@dataclass(frozen=True, slots=True)
class ChoiceRules:
    """Say which inner programs of an Einsum with some tensors on chip are made.

    `fused_einsum`, `placements`: the Einsum, and which memory keeps which tensors. `shareable[T]`:
    rank variables of the loops that may be shared above tensor T. `fused`: make mappings with fused
    loops too. `tracked`: memories whose bits in use labels (cost tuples of partial mappings) keep
    to the end. `unlimited`: memories whose bits labels need not have. `leaks`: leakage of the
    components.
    """

    fused_einsum: FusedEinsum
    placements: tuple[Placement, ...]
    shareable: Mapping[str, frozenset[str]]
    fused: bool
    tracked: frozenset[str]
    unlimited: frozenset[str]
    leaks: tuple[Leak, ...]

    @property
    def space(self) -> Mapspace:
        """The mapspace of the Einsum."""
        return self.fused_einsum.space

    def columns(self, deferred: DeferredCounts, has_all_deferred: bool) -> LabelFields:
        """Return the columns of labels, with the bits in use of memories that are not `unlimited`.

        A label is the tuple of costs of a partial mapping. `deferred`: how many columns hold costs
        paid later; `has_all_deferred`: as many as any template can use.
        """
        fields = label_fields(self.space.problem, self.leaks, self.tracked, deferred)
        used_bits = {m: n for m, n in fields.used_bits.items() if m not in self.unlimited}
        return replace(fields, used_bits=used_bits, has_all_deferred=has_all_deferred)


@dataclass(frozen=True, slots=True)
class ChoicePrograms:
    """The inner programs of a choice of tensors on chip.

    `tree`: their steps. `fields`: columns of the labels (cost tuples of partial mappings).
    `deferred`: how many columns hold costs paid later. `backing_holders`: the sets of holders above
    all loops among the templates (mappings without their loops).
    """

    tree: InnerTree
    fields: LabelFields
    deferred: DeferredCounts
    backing_holders: tuple[BackingHolders, ...]


KNOWN_CHOICES: KnownStructures[ChoicePrograms] = KnownStructures()


def choice_programs(rules: ChoiceRules, budget: Budget) -> ChoicePrograms:
    """Return the inner programs of a choice with all costs in numbers, known ones or made now.

    Raises OutOfBudget, and UnsupportedFeature for templates (mappings without their loops) that
    cannot be modelled.
    """

    def priced(known: ChoicePrograms) -> ChoicePrograms | None:
        fields = rules.columns(known.deferred, known.fields.has_all_deferred)
        prices = prices_of(
            rules.space.problem, fields, known.fields, one_instance=is_comparable(space)
        )
        return (
            None
            if prices is None
            else replace(known, tree=_priced(known.tree, prices), fields=fields)
        )

    space, einsum = rules.space, rules.fused_einsum
    key = structure_key(
        space, rules.placements, einsum.boundary, einsum.most_templates, rules.shareable,
        rules.fused, rules.tracked, rules.unlimited,
    )  # fmt: skip
    keeps = KNOWN_CHOICES.is_used(budget)
    kept = KNOWN_CHOICES.priced(key, space, priced) if keeps else None
    if kept is not None:
        return kept
    made = _compiled(rules, budget)
    if keeps:
        KNOWN_CHOICES.keep(key, space, made, made.tree.tree.root.size)
    result = priced(made)
    assert result is not None
    return result


def _priced(inner: InnerTree, prices: Prices) -> InnerTree:
    """Return the inner programs with joule and second in place of named costs.

    `prices`: the numbers of this design. Charges of holders and networks above the inner programs
    are replaced too.
    """
    programs = tuple(
        replace(
            program,
            holder_charges=tuple(map(prices.sorted_terms, program.holder_charges)),
            network_charges={
                place: prices.sorted_terms(terms)
                for place, terms in program.network_charges.items()
            },
        )
        for program in inner.inner_programs
    )
    return InnerTree(inner.tree, prices.steps(inner.steps), programs)


def _compiled(rules: ChoiceRules, budget: Budget) -> ChoicePrograms:
    """Enumerate the fused templates of a choice, and compile them with their costs by name.

    A few templates tell how many columns the labels need. If another template turns out to need
    more, the number is found from all templates.
    """
    space, fused, check = rules.space, rules.fused_einsum, budget.check
    made = checked(space.each_template(rules.placements), check)
    variants = list(checked(fused_templates(space, frozenset(fused.boundary), made), check))
    templates = fused.some_of(variants)
    sample = sampled_templates(templates, lambda each: each.template.placement, SAMPLED)
    try:
        return _with_columns_for(rules, templates, sample, budget)
    except TooFewColumns:
        return _with_columns_for(rules, templates, templates, budget)


def _with_columns_for(
    rules: ChoiceRules,
    templates: Sequence[FusedTemplate],
    sample: Sequence[FusedTemplate],
    budget: Budget,
) -> ChoicePrograms:
    """Compile `templates` with as many label columns as the templates of `sample` need.

    Raises TooFewColumns if some template needs more.
    """
    problem = rules.space.problem
    plain = replace(label_fields(problem, rules.leaks), rates=RateTable(by_name=True))
    checked_sample = budget.checking([template.template for template in sample])
    deferred = most_deferred(problem, plain, checked_sample)
    columns = rules.columns(deferred, len(sample) == len(templates))
    columns = replace(columns, rates=RateTable(by_name=True))
    programs = _inner_programs(rules, templates, columns, budget)
    tops = dict.fromkeys(backing_holders(template.template) for template in templates)
    return ChoicePrograms(inner_tree(programs), columns, deferred, tuple(tops))


def _inner_programs(
    rules: ChoiceRules, templates: Sequence[FusedTemplate], columns: LabelFields, budget: Budget
) -> list[InnerProgram]:
    """Compile the inner programs of all templates of a choice; `columns`: of their labels."""
    space, shareable = rules.space, rules.shareable
    variables = tuple(space.einsum.bounds) if rules.fused else ()
    programs: list[InnerProgram] = []
    for template in templates:
        budget.check()
        banned = banned_variables(space, template)
        places = [legal_places(v, template, shareable, banned) for v in variables]
        loop_places = tuple((v, gaps) for v, gaps in enumerate(places) if gaps)
        sharing = SharingRules(loop_places, _spatial_variables(space, template, shareable))
        programs += inner_programs(space.problem, columns, template, sharing)
    return programs


def _spatial_variables(
    space: Mapspace, template: FusedTemplate, shareable: Mapping[str, frozenset[str]]
) -> list[frozenset[str]]:
    """Return, per holder of the region, the variables that a spatial loop right above it may have.

    Region: the holders down to the lowest tensor on chip, outermost first. `shareable`: by
    exchanged tensor, the variables whose loops Einsums may share. A variable is allowed above a
    holder if it is shareable for each exchanged tensor backed by this holder or by one below it.
    """
    variables: list[frozenset[str]] = []
    allowed = frozenset(space.einsum.bounds)
    for holder in reversed(template.region):
        if holder.backing:
            allowed = allowed & shareable.get(holder.tensor, allowed)
        variables.insert(0, allowed)
    return variables
