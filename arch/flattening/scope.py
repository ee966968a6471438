"""The names that an architecture's expressions see, in layers, each evaluated when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import ExpressionError, Where
from tilewright.arch.expressions.expressions import MAX_STEPS, evaluate
from tilewright.arch.expressions.operators import EvaluationError, Steps
from tilewright.arch.expressions.sets import Kind, NameSet, Universe

if TYPE_CHECKING:
    from tilewright.arch.components.components import Kept

Names = Mapping[str, object]
Value = TypeVar("Value")


class LazyNames(Mapping[str, object]):
    """A block of named expressions, each evaluated when it is first asked for.

    They may use each other in any order, without cycles (ExpressionError). A name that is not in
    the block comes from `outer`; so does a block's own name inside its own expression (`size: size`
    takes an outer `size`).
    """

    def __init__(
        self, raw: Mapping[str, object], outer: Names, place: Callable[[str], Where | None]
    ) -> None:
        self._raw = raw
        self._outer = outer
        self._place = place
        self._done: dict[str, object] = {}
        self._busy: list[str] = []

    def __getitem__(self, name: str) -> object:
        if name in self._done:
            return self._done[name]
        if name not in self._raw or (self._busy and self._busy[-1] == name):
            return self._outer[name]
        if name in self._busy:
            round_trip = " -> ".join([*self._busy[self._busy.index(name) :], name])
            raise ExpressionError(
                f"{name} depends on itself: {round_trip}",
                where=self._place(name),
                value=self._raw[name],
            )
        self._busy.append(name)
        try:
            value = evaluate_deep(self._raw[name], self, self._place(name))
        finally:
            self._busy.pop()
        self._done[name] = value
        return value

    def __iter__(self) -> Iterator[str]:
        yield from self._raw
        yield from (name for name in self._outer if name not in self._raw)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._raw or name in self._outer


def evaluate_deep(value: object, names: Names, where: Where | None) -> object:
    """Return the value of an expression, or of all expressions inside a list or mapping.

    Raises ExpressionError, at `where`, if one fails or the result is too large.
    """
    if not isinstance(value, dict | list):
        return evaluate(value, names, where)
    result: object
    if isinstance(value, dict):
        result = {key: evaluate_deep(inner, names, where) for key, inner in value.items()}
    else:
        result = [evaluate_deep(inner, names, where) for inner in value]
    try:
        return Steps(MAX_STEPS).charge(result)
    except EvaluationError as error:
        raise ExpressionError(f"the list is too large: {error}", where=where) from None


class Layer(Mapping[str, Value]):
    """Names in two layers: those of `inner`, and those of `outer` that it lacks."""

    def __init__(self, inner: Mapping[str, Value], outer: Mapping[str, Value]) -> None:
        self._inner = inner
        self._outer = outer

    def __getitem__(self, name: str) -> Value:
        return self._inner[name] if name in self._inner else self._outer[name]

    def __contains__(self, name: object) -> bool:
        return name in self._inner or name in self._outer

    def __iter__(self) -> Iterator[str]:
        yield from self._inner
        yield from (name for name in self._outer if name not in self._inner)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Without(Mapping[str, Value]):
    """The names of a mapping, which may be large, without a few."""

    def __init__(self, names: Mapping[str, Value], left_out: frozenset[str]) -> None:
        self._names = names
        self._left_out = left_out

    def __getitem__(self, name: str) -> Value:
        if name in self._left_out:
            raise KeyError(name)
        return self._names[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names and name not in self._left_out

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._names if name not in self._left_out)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _NamedSets(Mapping[str, object]):
    """Sets of an Einsum as values of expressions, made when they are asked for."""

    def __init__(self, sets: Mapping[str, frozenset[str]], universe: Universe, kind: Kind) -> None:
        self._sets = sets
        self._universe = universe
        self._kind = kind

    def __getitem__(self, name: str) -> NameSet:
        return NameSet(self._sets[name], self._universe, self._kind)

    def __contains__(self, name: object) -> bool:
        return name in self._sets

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)


class WatchedNames(Mapping[str, object]):
    """Names that note in a set which of the `watched` ones are looked up."""

    def __init__(self, names: Names, watched: set[str], asked: set[str]) -> None:
        self._names = names
        self._watched = watched
        self._asked = asked

    def __getitem__(self, name: str) -> object:
        if name in self._watched:
            self._asked.add(name)
        return self._names[name]

    def __contains__(self, name: object) -> bool:
        if name in self._watched:
            self._asked.add(str(name))
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class EinsumNames:
    """The sets that one Einsum brings to expressions: of tensors and of rank variables.

    Where a tensor and a rank variable have one name, `all` takes the tensor, `for_loops` the rank
    variable. `scope`: what it brings.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        everything: frozenset[str] = frozenset(scope.tensors)
        self.universe = Universe(
            everything,
            frozenset(scope.rank_variables),
            scope.rank_variables_of,
            scope.bits_per_value,
        )
        variable_sets = {name: frozenset({name}) for name in scope.rank_variables}
        ranks = Layer(variable_sets, scope.rank_sets)
        self.tensors: Names = _NamedSets(_tensor_sets(scope, everything), self.universe, "tensors")
        self.rank_variables: Names = _NamedSets(ranks, self.universe, "rank_variables")
        self.all: Names = Layer(self.tensors, self.rank_variables)
        self.for_loops: Names = Layer(self.rank_variables, self.tensors)

    def kept_sets(self, holders_above: tuple[str, ...], kept_tensors: Kept) -> Names:
        """Return the holders above as names of the sets of tensors that they keep, and `Above`.

        `holders_above`: Memories and Tolls; `kept_tensors`: by holder; `Above` is the union.
        """
        sets = {name: frozenset(kept_tensors.get(name, ())) for name in holders_above}
        union: frozenset[str] = frozenset().union(*sets.values())
        named = {**sets, "Above": union}
        return {name: NameSet(names, self.universe) for name, names in named.items()}


def _tensor_sets(scope: Scope, everything: frozenset[str]) -> Mapping[str, frozenset[str]]:
    default_sets = {
        "All": everything,
        "Tensors": everything,
        "Nothing": frozenset[str](),
        **{name: frozenset({name}) for name in scope.tensors},
    }
    return Layer(scope.sets, default_sets)
