"""The least change of one constraint that leaves a mapping: a number where it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import gcd, inf, lcm

from tilewright.arch.components.components import Comparison, Component, Memory, SpatialDim
from tilewright.mapper.explain.constraint import Edit, MappingConstraint, of_size, on_dim, on_rules
from tilewright.mapper.explain.subject import Active, ConstrainedEinsum
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.templates.spatial_choices import holds

_MOST_PRODUCTS = 5000  # of lanes, tried


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One change of one constraint with which a mapping exists.

    `text`: the change in words, as to write it in the file. `edit`: the change of the component.
    `value`: the number to write; None: remove the constraint. `change`: relative change of the
    number, inf where the constraint is removed.
    """

    constraint: MappingConstraint
    text: str
    edit: Edit = field(compare=False, repr=False)
    value: float | None = None
    change: float = inf


def relaxation_of(
    subject: ConstrainedEinsum, constraint: MappingConstraint, active: Active
) -> Relaxation | None:
    """Return the least change of a constraint with which a mapping exists; None if none helps.

    `subject`: the Einsum with its constraints. `active`: the constraints that are kept, this one
    among them. Sizes (bits), fanouts (lanes) and the numbers of loop_bounds and tile_shape get the
    nearest value that helps, others are removed (theory/explain.md §4). Raises TooLarge where the
    time or work allowed is used up.
    """
    if constraint.kind == "enabled":
        if not subject.enabled_alone(constraint):
            return None
        return Relaxation(constraint, f"{constraint.path}: true", constraint.lift)
    if not subject.feasible(active - {constraint}):
        return None
    if constraint.kind == "size":
        return _size(subject, constraint, active)
    if constraint.kind == "fanout":
        return _first(subject, constraint, active, _fanouts(subject, constraint))
    if constraint.kind in ("loop_bounds", "tile_shape"):
        return _first(subject, constraint, active, _values(subject, constraint))
    return lifted_altogether(constraint)


def lifted_altogether(constraint: MappingConstraint) -> Relaxation:
    """Return the change that removes a constraint; whether it helps is not tested."""
    return Relaxation(constraint, _lifted(constraint), constraint.lift)


def _lifted(constraint: MappingConstraint) -> str:
    path, tensor = constraint.path, constraint.tensor
    if constraint.kind == "may_keep":
        return f"{path}: with {tensor} too"
    if constraint.kind == "unfused":
        return f"search with fusion: {tensor} need not go through the outermost memory then"
    if tensor:
        return f"{path}: without {tensor}"
    return f"without {path}"


# ---- sizes


def least_size(subject: ConstrainedEinsum, constraint: MappingConstraint, active: Active) -> float:
    """Return the least size of a memory, in bits, with which a mapping exists. Exact.

    `constraint`: the size; lifting it must help. `active`: the other constraints that are kept. The
    size is searched by halving in steps of a common measure of all bit widths. Raises TooLarge
    where the time or work allowed is used up.
    """
    unit = _unit(subject, constraint)
    size = subject.sizes().get(constraint.component, 0.0)
    low = int(Fraction(size) / unit) if size < inf else 0
    high = max(2 * low, 1)
    while not _fits_with(subject, constraint, active, float(high * unit)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _fits_with(subject, constraint, active, float(middle * unit)):
            high = middle
        else:
            low = middle
    return float(high * unit)


def _fits_with(
    subject: ConstrainedEinsum, constraint: MappingConstraint, active: Active, size: float
) -> bool:
    return subject.fits(subject.spaces(active | {constraint}, {constraint: of_size(size)}))


def _unit(subject: ConstrainedEinsum, constraint: MappingConstraint) -> Fraction:
    """Return a number of bits of which all possible bits in use are multiples."""
    memory = _component(subject, constraint)
    assert isinstance(memory, Memory)
    widths = {access.bits_per_value for access in subject.einsum.accesses}
    widths |= {
        memory.bits_per_value[t] for t in subject.einsum.tensors if t in memory.bits_per_value
    }
    return Fraction(gcd(*(w.numerator for w in widths)), lcm(*(w.denominator for w in widths)))


def _size(subject: ConstrainedEinsum, constraint: MappingConstraint, active: Active) -> Relaxation:
    size = least_size(subject, constraint, active)
    current = subject.sizes()[constraint.component]
    text = f"{constraint.path}: {size:g} (now {current:g})"
    return Relaxation(constraint, text, of_size(size), size, size / current - 1 if current else inf)


# ---- numbers of dimensions and comparisons


_Try = tuple[float, float, Edit]  # relative change, the number, the edit


def _first(
    subject: ConstrainedEinsum, constraint: MappingConstraint, active: Active, tries: Iterator[_Try]
) -> Relaxation:
    """Return the first change of `tries` that makes a mapping possible.

    Else removing the constraint.
    """
    for change, value, edit in tries:
        if subject.fits(subject.spaces(active, {constraint: edit})):
            name = "" if constraint.kind == "fanout" else ".value"
            text = f"{constraint.path}{name}: {value:g}"
            return Relaxation(constraint, text, edit, value, change)
    return lifted_altogether(constraint)


def _fanouts(subject: ConstrainedEinsum, constraint: MappingConstraint) -> Iterator[_Try]:
    number = int(constraint.steps[1])
    fanout = _component(subject, constraint).spatial[number].fanout
    for lanes in _products(list(subject.einsum.bounds.values())):
        if lanes > fanout:
            yield lanes / fanout - 1, lanes, on_dim(number, fanout=lanes)


def _values(subject: ConstrainedEinsum, constraint: MappingConstraint) -> Iterator[_Try]:
    """Yield other numbers for a comparison with their edits, the nearest first.

    Numbers are extents of tiles or lanes, or their products.
    """
    bound = _comparison(subject, constraint)
    extents = [n for v, n in subject.einsum.bounds.items() if v in bound.rank_variables]
    if bound.operator.startswith("product"):
        numbers = _products(extents)
    else:
        numbers = sorted({d for extent in extents for d in divisors(extent)})
    shift = {"<": 1, ">": -1}.get(bound.operator.removeprefix("product"), 0)
    values = {n + shift for n in numbers} - {bound.value}
    for value in sorted(values, key=lambda n: (abs(n - bound.value), n)):
        changed = replace(bound, value=value)
        if _weaker(bound, changed, numbers):
            change = abs(value - bound.value) / max(bound.value, 1)
            yield change, value, _written(constraint, changed)


def _weaker(bound: Comparison, changed: Comparison, numbers: Sequence[int]) -> bool:
    """Tell whether the changed comparison admits a number that `bound` does not."""
    plain = replace(bound, operator=bound.operator.removeprefix("product"))  # type: ignore[arg-type]
    fresh = replace(plain, value=changed.value)
    name = next(iter(bound.rank_variables), "")
    return any(
        holds(fresh, {name: number}) and not holds(plain, {name: number}) for number in numbers
    )


def _products(extents: Sequence[int]) -> list[int]:
    """Return the products of one divisor of each extent, ascending, at most a few thousand."""
    products = {1}
    for extent in extents:
        products = {a * b for a, b in product(sorted(products)[:_MOST_PRODUCTS], divisors(extent))}
    return sorted(products)[:_MOST_PRODUCTS]


def _component(subject: ConstrainedEinsum, constraint: MappingConstraint) -> Component:
    return next(
        c
        for flat in subject.flats(frozenset())
        for c in flat.components
        if c.name == constraint.component
    )


def _dim(subject: ConstrainedEinsum, constraint: MappingConstraint) -> SpatialDim:
    return _component(subject, constraint).spatial[int(constraint.steps[1])]


def _comparison(subject: ConstrainedEinsum, constraint: MappingConstraint) -> Comparison:
    index = int(constraint.steps[-1])
    if constraint.kind == "loop_bounds":
        return _dim(subject, constraint).loop_bounds[index]
    rules = _component(subject, constraint).tensors.resolve({})  # type: ignore[attr-defined]
    comparison: Comparison = rules.tile_shape[index]
    return comparison


def _written(constraint: MappingConstraint, bound: Comparison) -> Edit:
    """Return the edit that replaces the constraint's comparison by `bound`."""
    index = int(constraint.steps[-1])

    def put(bounds: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
        return (*bounds[:index], bound, *bounds[index + 1 :])

    if constraint.kind == "tile_shape":
        return on_rules(lambda rules, _: replace(rules, tile_shape=put(rules.tile_shape)))
    number = int(constraint.steps[1])

    def edit(component: Component) -> Component:
        dims = list(component.spatial)
        dims[number] = replace(dims[number], loop_bounds=put(dims[number].loop_bounds))
        return replace(component, spatial=tuple(dims))

    return edit
