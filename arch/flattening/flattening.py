"""Flatten an architecture: one path of components per Compute, all numbers evaluated.

The rules are those of inputs.md §2.3.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

from tilewright.arch.components.components import (
    Component,
    Compute,
    Kept,
    TensorHolder,
    TensorRules,
)
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.build import Surroundings, build_component, fanout_of, tensor_rules
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.kinds.renamed_component import renamed_paths
from tilewright.arch.flattening.kinds.scope_signature import einsum_signature
from tilewright.arch.flattening.known_components import keep_component, known_component
from tilewright.arch.flattening.latency import ExpressionLatency
from tilewright.arch.flattening.placement import SpecTensorRules
from tilewright.arch.flattening.resolve import Resolver
from tilewright.arch.flattening.scope import EinsumNames, Layer, LazyNames, Names, WatchedNames
from tilewright.arch.flattening.switches import Switch, is_emptied, passed_by
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import LeafSpec
from tilewright.arch.spec.tree import Node

_HOLDERS = ("Memory", "Toll")


def flatten(
    arch: Arch,
    scope: Scope | None = None,
    kept_tensors: Kept | None = None,
    switch: Switch = passed_by,
) -> tuple[FlatArch, ...]:
    """Evaluate an architecture for one Einsum: one path of components per enabled Compute.

    `scope`: the Einsum's names and sets; without it, fields that need an Einsum stay open (NaN or
    empty, listed in `unresolved`) and every component counts as enabled. `kept_tensors`: by memory,
    for expressions that name memories outside of `tensors:`. `switch`: what stands in the place of
    a disabled component. Paths come in file order. Raises SpecError, with the place, for every
    expression or number that is wrong. The last answers are kept: a search, the model and the
    verification ask for the same ones.
    """
    asked = _Question(arch, scope, dict(kept_tensors or {}), switch)
    place = id(arch), "" if scope is None else scope.einsum
    for question, paths in _LATEST.get(place, ()):
        if question.has_answer_of(asked):
            _LATEST.move_to_end(place)
            return paths
    answer = _renamed_answer(asked) or _walked_answer(asked)
    answers = _LATEST.setdefault(place, deque(maxlen=_MOST_OF_EINSUM))
    answers.append(answer)
    _LATEST.move_to_end(place)
    _make_room(arch)
    return answer[1]


def _walked_answer(asked: _Question) -> _Answer:
    """Return the answer to a question, by a walk over the architecture."""
    arch, scope, switch = asked.arch, asked.scope, asked.switch
    walk = _TreeWalk(arch, scope, asked.kept_tensors, switch)
    walk.visit_list(arch.root.children, _TreeSurroundings())
    paths = tuple(walk.flat(place) for place in walk.places if walk.is_usable_compute(place))
    answer = replace(asked, kept_counts=walk.asks_what_is_kept), paths
    signature = None if scope is None else einsum_signature(arch, scope)
    if signature is not None and not walk.asks_what_is_kept:
        _FIRST_ALIKE[id(arch), switch, signature] = answer
        if len(_FIRST_ALIKE) > _MOST_LATEST:
            _FIRST_ALIKE.popitem(last=False)
    return answer


def _renamed_answer(asked: _Question) -> _Answer | None:
    """Return the answer for an Einsum that differs in names only, renamed; None if there is none.

    What is kept does not count in it.
    """
    arch, scope = asked.arch, asked.scope
    if scope is None:
        return None
    signature = einsum_signature(arch, scope)
    question, paths = _FIRST_ALIKE.get((id(arch), asked.switch, signature), (None, ()))
    if question is None or question.arch is not arch or question.scope is None:
        return None
    einsum = EinsumNames(scope)
    names = LazyNames(arch.variables, einsum.all, arch.variable_places.get)

    def rules_of(holder: TensorHolder) -> TensorRules:
        rules = holder.tensors
        if not isinstance(rules, SpecTensorRules):
            return rules
        resolver = Resolver(arch, rules.resolver.node, names, einsum)
        return tensor_rules(resolver, rules.holders_above)

    paths = renamed_paths(paths, question.scope, scope, rules_of)
    return replace(asked, kept_counts=False), paths


def _make_room(arch: Arch) -> None:
    """Forget the oldest answers; those of the present architecture only if they are very many."""
    while len(_LATEST) > _MOST_LATEST:
        oldest = next(iter(_LATEST))
        if oldest[0] == id(arch) and len(_LATEST) <= _MOST_OF_ONE:
            return
        del _LATEST[oldest]


def depends_on_kept(arch: Arch, scope: Scope, switch: Switch = passed_by) -> bool:
    """Tell whether an expression outside of `tensors:` asks what a memory keeps.

    Arguments as of `flatten`. If none does, all mappings of the Einsum see the same components.
    """
    walk = _TreeWalk(arch, scope, {}, switch)
    walk.visit_list(arch.root.children, _TreeSurroundings())
    return walk.asks_what_is_kept


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """The arguments of `flatten`; `kept_counts`: whether the answer depends on `kept_tensors`."""

    arch: Arch
    scope: Scope | None
    kept_tensors: Kept
    switch: Switch
    kept_counts: bool = True

    def has_answer_of(self, other: _Question) -> bool:
        """Tell whether the answer to another question is also that to this one."""
        same = self.arch is other.arch and self.switch is other.switch
        same = same and (not self.kept_counts or self.kept_tensors == other.kept_tensors)
        return same and self.scope == other.scope


_MOST_LATEST, _MOST_OF_EINSUM = 128, 16
_MOST_OF_ONE = 4096
"""A search, the model and the verification go through all Einsums of one architecture in turn."""
_Answer = tuple[_Question, tuple[FlatArch, ...]]
_LATEST: OrderedDict[tuple[int, str], deque[_Answer]] = OrderedDict()
"""The last answers, by architecture and Einsum."""
_FIRST_ALIKE: OrderedDict[tuple[int, Switch, Hashable], _Answer] = OrderedDict()
"""The first answer of those for Einsums that the architecture cannot tell apart but by names."""


@dataclass(frozen=True, slots=True)
class _TreeSurroundings:
    """What is above a node in the tree.

    `above`: components; `forks`: Fork nodes that it is inside of; `grid`: places of its Array's
    grid.
    """

    above: tuple[_PlacedComponent, ...] = ()
    forks: tuple[Node, ...] = ()
    grid: int | None = None  # places of the grid of the Array it is inside of


@dataclass(frozen=True, slots=True)
class _PlacedComponent:
    """A component with its node and what is above it in the tree.

    `stands`: what takes its place on the path if it may be disabled; None: the path leaves it out.
    `above`: the components above it; `forks`: the Forks it stands in.
    """

    node: Node
    component: Component
    stands: Component | None  # what stands in its place on the way to a Compute
    above: tuple[_PlacedComponent, ...]
    forks: tuple[Node, ...]

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def enabled(self) -> bool:
        return self.stands is not None and not is_emptied(self.stands)


@dataclass(slots=True)
class _TreeWalk:
    """One pass over the tree, building every component once.

    `arch`, `scope`, `kept_tensors`, `switch`: the arguments of `flatten`.
    `places`: the components so far.
    """

    arch: Arch
    scope: Scope | None
    kept_tensors: Kept
    switch: Switch
    places: list[_PlacedComponent] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    grids: dict[str, str] = field(default_factory=dict)
    einsum: EinsumNames | None = None
    variables: Names = field(default_factory=dict)
    asked_names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.einsum = None if self.scope is None else EinsumNames(self.scope)
        outer: Names = {} if self.einsum is None else self.einsum.all
        places = self.arch.variable_places
        self.variables = LazyNames(self.arch.variables, outer, places.get)

    def visit_list(self, nodes: tuple[Node, ...], around: _TreeSurroundings) -> _TreeSurroundings:
        """Visit nodes in order; return what stands above whatever follows them."""
        for node in nodes:
            around = self._visit(node, around)
        return around

    def _visit(self, node: Node, around: _TreeSurroundings) -> _TreeSurroundings:
        if node.tag == "Hierarchical":
            return self.visit_list(node.children, around)
        if node.tag == "Fork":
            inner = _TreeSurroundings(around.above, (*around.forks, node), around.grid)
            self.visit_list(node.children, inner)
            return around
        if node.tag == "Array":
            return self._visit_array(node, around)
        place = self._leaf(node, around)
        if node.tag == "Compute":
            return around
        return _TreeSurroundings((*around.above, place), around.forks, around.grid)

    def _visit_array(self, node: Node, around: _TreeSurroundings) -> _TreeSurroundings:
        """Place the Array's memories on its grid, then fan out, then its Computes.

        The memories are distributed: logically above the fanout, physically spread over the grid
        (inputs.md §2.2).
        """
        first = len(self.places)
        resolver = Resolver(self.arch, node, self.variables, self.einsum, self.unresolved)
        inner = _TreeSurroundings(around.above, around.forks, fanout_of(resolver))
        components = tuple(child for child in node.children if child.tag != "Compute")
        inner = self.visit_list(components, inner)
        last = len(self.places)
        grid = self._leaf(node, _TreeSurroundings(inner.above, around.forks))
        surroundings_below = _TreeSurroundings((*inner.above, grid), around.forks)
        for place in self.places[first:last]:
            self._check_grid(place, grid.component)
            self.grids[place.name] = grid.name
        for child in node.children:
            if child.tag == "Compute":
                self._leaf(child, surroundings_below)
        return surroundings_below

    def _check_grid(self, place: _PlacedComponent, grid: Component) -> None:
        """Raise SpecError unless each of a memory's fanouts divides the Array's grid.

        Its instances then stand at a regular stride.
        """
        sizes = {dim.name: dim.fanout for dim in grid.spatial}
        for index, dim in enumerate(place.component.physical_spatial):
            if sizes.get(dim.name, 0) % dim.fanout == 0 and dim.name in sizes:
                continue
            raise SpecError(
                f"{place.name} does not fit the grid of {grid.name} in dimension {dim.name}",
                where=self.arch.where(place.node, "spatial", index),
                value=dim.fanout,
                instead=f"divisors of {sizes[dim.name]}"
                if dim.name in sizes
                else f"one of the dimensions {', '.join(sizes)}",
            )

    def _leaf(self, node: Node, around: _TreeSurroundings) -> _PlacedComponent:
        parent_fanout = 1
        for place in around.above:
            parent_fanout *= place.component.own_fanout
        holders = tuple(p.name for p in around.above if p.node.tag in _HOLDERS and p.enabled)
        names: Names = self.variables
        if self.einsum is not None:
            names = self._with_kept(self.einsum, holders, names)
        resolver = Resolver(self.arch, node, names, self.einsum, self.unresolved)
        assert isinstance(node.spec, LeafSpec)
        enabled = resolver.condition(node.spec.enabled, "enabled")
        position = Surroundings(parent_fanout, holders, around.grid)
        component = self._component(resolver, position)
        stands = self.switch(component, enabled, node.tag)
        place = _PlacedComponent(node, component, stands, around.above, around.forks)
        self.places.append(place)
        return place

    def _component(self, resolver: Resolver, position: Surroundings) -> Component:
        """Return the component of a node, evaluated now or for an equal node before."""
        if self.scope is None or self.kept_tensors:
            return build_component(resolver, position)
        node, asked = resolver.node, len(self.asked_names)
        evaluated = known_component(self.arch, node, position, self.scope)
        if evaluated is not None:
            return evaluated
        component = build_component(resolver, position)
        if len(self.asked_names) == asked and not isinstance(component.latency, ExpressionLatency):
            keep_component(self.arch, node, position, self.scope, component)
        return component

    def _with_kept(self, einsum: EinsumNames, holders: tuple[str, ...], names: Names) -> Names:
        """Return the names with those of the holders above, as the sets they keep, in front.

        Whether one of these is read is noted.
        """
        kept_sets = einsum.kept_sets(holders, self.kept_tensors) if self.kept_tensors else {}
        return WatchedNames(Layer(kept_sets, names), {*holders, "Above"}, self.asked_names)

    @property
    def asks_what_is_kept(self) -> bool:
        """Whether an expression read what a holder keeps, or may read it later."""
        components = (place.component for place in self.places)
        rules = (component.latency for component in components)
        return bool(self.asked_names) or any(isinstance(r, ExpressionLatency) for r in rules)

    def is_usable_compute(self, place: _PlacedComponent) -> bool:
        return place.enabled and isinstance(place.component, Compute)

    def flat(self, place: _PlacedComponent) -> FlatArch:
        """Assemble the flattened architecture that ends at this Compute."""
        assert isinstance(place.component, Compute)
        path = tuple(p.stands for p in (*place.above, place) if p.stands is not None)
        on_path = {component.name for component in path}
        return FlatArch(
            compute=place.component,
            components=path,
            beside=tuple(p.component for p in self.places if p.name not in on_path),
            einsum=None if self.scope is None else self.scope.einsum,
            disabled=frozenset(p.name for p in self.places if not p.enabled),
            gated=self._gated(place),
            ancestors=self._ancestors(),
            grids=self.grids,
            unresolved=tuple(dict.fromkeys(self.unresolved)),
        )

    def _ancestors(self) -> Mapping[str, tuple[str, ...]]:
        return {p.name: tuple(upper.name for upper in p.above) for p in self.places}

    def _gated(self, compute: _PlacedComponent) -> frozenset[str]:
        """Return the components that Forks switch off while `compute` works (model.md §5.2)."""
        gated = set()
        for place in self.places:
            for fork in place.forks:
                if fork not in compute.forks and self._flag(fork, "forked_power_gateable"):
                    gated.add(place.name)
            for fork in compute.forks:
                behind = fork not in place.forks and place not in compute.above
                if behind and self._flag(fork, "non_forked_power_gateable"):
                    gated.add(place.name)
        return frozenset(gated)

    def _flag(self, fork: Node, name: str) -> bool:
        resolver = Resolver(self.arch, fork, self.variables, self.einsum, self.unresolved)
        return resolver.flag(getattr(fork.spec, name), name)
