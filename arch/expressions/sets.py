"""Sets of names in expressions: `~Intermediates`, `input | output`, `~MainMemory.tensors`.

Grammar as in inputs.md §5.1: Python's operators over sets with a universe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from tilewright.arch.errors import ExpressionError, Where
from tilewright.arch.expressions.expressions import evaluate
from tilewright.arch.expressions.operators import Algebra, EvaluationError, describe

Kind = Literal["tensors", "rank_variables"]
_LOOK = {"tensors": "a set of tensors", "rank_variables": "a set of rank variables"}


@dataclass(frozen=True, slots=True)
class Universe:
    """All names of an Einsum, against which set expressions are evaluated.

    `tensors`, `rank_variables`: what `~` complements within; `rank_variables_of`: tensor to the
    indices that it uses; `bits_per_value`: width by tensor.
    """

    tensors: frozenset[str]
    rank_variables: frozenset[str]
    rank_variables_of: Mapping[str, frozenset[str]]
    bits_per_value: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class NameSet(Algebra):
    """A set of tensor names or of rank variables as a value of expressions, with & | - ^ ~.

    `names`: its members; `universe`: all names of the Einsum; `kind`: tensors or rank_variables.
    Two kinds do not mix (EvaluationError).
    """

    names: frozenset[str]
    universe: Universe
    kind: Kind = "tensors"

    fields: ClassVar[frozenset[str]] = frozenset({"tensors", "rank_variables", "bits_per_value"})
    described_as: ClassVar[str] = "a set"

    def __and__(self, other: object) -> NameSet:
        return self._with(self.names & self._same(other))

    def __or__(self, other: object) -> NameSet:
        return self._with(self.names | self._same(other))

    def __sub__(self, other: object) -> NameSet:
        return self._with(self.names - self._same(other))

    def __xor__(self, other: object) -> NameSet:
        return self._with(self.names ^ self._same(other))

    def __invert__(self) -> NameSet:
        all_names = (
            self.universe.tensors if self.kind == "tensors" else self.universe.rank_variables
        )
        return self._with(all_names - self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NameSet) and (self.kind, self.names) == (other.kind, other.names)

    def __hash__(self) -> int:
        return hash((self.kind, self.names))

    def __lt__(self, other: object) -> bool:
        return self.names < self._same(other)

    def __le__(self, other: object) -> bool:
        return self.names <= self._same(other)

    def __gt__(self, other: object) -> bool:
        return self.names > self._same(other)

    def __ge__(self, other: object) -> bool:
        return self.names >= self._same(other)

    def __bool__(self) -> bool:
        return bool(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def elements(self) -> list[str]:
        """Return the members in alphabetical order."""
        return sorted(self.names)

    def __add__(self, other: object) -> NameSet:
        raise EvaluationError("+ does not apply to sets", "write | to unite two sets")

    __radd__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__

    @property
    def tensors(self) -> NameSet:
        """The set itself, so that `MainMemory.tensors` and `MainMemory` mean the same.

        Raises EvaluationError for a set of rank variables.
        """
        if self.kind != "tensors":
            raise EvaluationError("a set of rank variables has no .tensors")
        return self

    @property
    def rank_variables(self) -> NameSet:
        """The set of all rank variables (loop indices) that index any of the tensors."""
        if self.kind == "rank_variables":
            return self
        of = self.universe.rank_variables_of
        names: frozenset[str] = frozenset().union(
            *(of.get(name, frozenset()) for name in self.names)
        )
        return NameSet(names, self.universe, "rank_variables")

    @property
    def bits_per_value(self) -> int | Fraction:
        """Width in bits of the set's tensors, if they all have the same.

        Raises EvaluationError for an empty set, rank variables, or different widths.
        """
        if self.kind != "tensors" or not self.names:
            raise EvaluationError(
                ".bits_per_value of an empty set has no value",
                "guard it: weight.bits_per_value if weight else 0",
            )
        widths = {self.universe.bits_per_value[name] for name in sorted(self.names)}
        if len(widths) > 1:
            raise EvaluationError(
                f".bits_per_value of {len(self.names)} tensors of different widths has no value"
            )
        width = widths.pop()
        return int(width) if width.denominator == 1 else width

    def _with(self, names: frozenset[str]) -> NameSet:
        return NameSet(names, self.universe, self.kind)

    def _same(self, other: object) -> frozenset[str]:
        if isinstance(other, NameSet) and other.kind == self.kind:
            return other.names
        if isinstance(other, NameSet):
            raise EvaluationError(
                f"{_LOOK[self.kind]} and {_LOOK[other.kind]} do not mix",
                "write .rank_variables behind the tensors",
            )
        raise EvaluationError(f"a set does not mix with {describe(other)}")


def tensor_set(
    expression: object, names: Mapping[str, object], where: Where | None = None
) -> frozenset[str]:
    """Return the tensor names that a set expression selects; a list of expressions is their union.

    `names`: value by name. Raises ExpressionError, at `where`, if it is no set of tensors.
    """
    return _names_of(expression, names, where, "tensors")


def rank_variable_set(
    expression: object, names: Mapping[str, object], where: Where | None = None
) -> frozenset[str]:
    """Return the rank variables that a set expression selects; a tensor stands for all its own.

    A list of expressions is their union. Raises ExpressionError, at `where`, for anything else.
    """
    return _names_of(expression, names, where, "rank_variables")


def names_tensors(
    expression: object, names: Mapping[str, object], where: Where | None = None
) -> bool:
    """Return whether a set expression, or any of a list of them, selects tensors.

    Otherwise it selects rank variables. Raises ExpressionError, at `where`, if it cannot be
    evaluated.
    """
    if isinstance(expression, list | tuple):
        return any(names_tensors(part, names, where) for part in expression)
    result = evaluate(expression, names, where)
    parts = result if isinstance(result, list | tuple) else (result,)
    return any(isinstance(part, NameSet) and part.kind == "tensors" for part in parts)


def _names_of(
    expression: object, names: Mapping[str, object], where: Where | None, kind: Kind
) -> frozenset[str]:
    if isinstance(expression, list | tuple):
        return frozenset().union(*(_names_of(part, names, where, kind) for part in expression))
    result = evaluate(expression, names, where)
    if isinstance(result, NameSet):
        name_set = result.rank_variables if kind == "rank_variables" else result
        if name_set.kind == kind:
            return name_set.names
    if isinstance(result, list | tuple) and all(isinstance(part, NameSet) for part in result):
        return frozenset().union(*(part.names for part in result))
    raise ExpressionError(
        f"this must be {_LOOK[kind]}",
        where=where,
        value=expression,
        instead="use names, All, Nothing, and & | ~ - between them",
    )
