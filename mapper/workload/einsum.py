"""One tensor computation: rank variables, projections, tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Literal

Relevance = Literal["irrelevant", "relevant", "partial"]
Combine = Literal["*", "+"]  # what one operation does with the values of the inputs


@dataclass(frozen=True, slots=True)
class Affine:
    """An affine form over rank variables: sum of coefficient * variable, plus a constant.

    The variables run from 0: where they begin is in the constant. `least`: the positions that one
    point counts for (conventions.md §12).
    """

    terms: tuple[tuple[str, int], ...]  # (rank variable, coefficient), in the order written
    constant: int = 0
    least: int = 1

    def extent(self, tile: Mapping[str, int]) -> int:
        """Number of positions it spans when each variable runs over `tile[v]` values."""
        return self.least + sum(abs(factor) * (tile[name] - 1) for name, factor in self.terms)

    @property
    def is_single(self) -> bool:
        """Whether it is one variable, perhaps with a factor, and tiles of it do not overlap."""
        return len(self.terms) == 1 and self.least == 1

    def written(self, starts: Mapping[str, int]) -> int:
        """Return the constant in the file, where the variables begin at `starts`."""
        return self.constant - sum(factor * starts.get(name, 0) for name, factor in self.terms)

    def value(self, point: Mapping[str, int]) -> int:
        return self.constant + sum(factor * point[name] for name, factor in self.terms)


@dataclass(frozen=True)
class TensorAccess:
    """How an Einsum touches a tensor: one affine form per rank of the tensor."""

    tensor: str
    projection: tuple[tuple[str, Affine], ...]  # (rank, form), in rank order
    output: bool = False
    persistent: bool = False
    bits_per_value: Fraction = Fraction(1)

    @cached_property
    def rank_variables(self) -> frozenset[str]:
        return frozenset(name for _, form in self.projection for name, _ in form.terms)

    @cached_property
    def _relevances(self) -> dict[str, Relevance]:
        relevances: dict[str, Relevance] = {}
        for _, form in self.projection:
            for name, _ in form.terms:
                relevances.setdefault(name, "relevant" if form.is_single else "partial")
        return relevances

    def relevance(self, rank_variable: str) -> Relevance:
        """Classify as model.md §1.2: the first form that contains the variable decides."""
        return self._relevances.get(rank_variable, "irrelevant")

    def is_plain(self, rank_variable: str) -> bool:
        """Tell whether the tensor has one value per value of the variable, shared by none of them.

        Then tile extent x iterations does not depend on the tile.
        """
        forms = [form for _, form in self.projection if rank_variable in dict(form.terms)]
        return len(forms) == 1 and forms[0].is_single and abs(forms[0].terms[0][1]) == 1

    @property
    def least(self) -> int:
        """Elements that one point counts for in a holder; one operation moves one all the same."""
        return prod(form.least for _, form in self.projection)

    def tile_size(self, tile: Mapping[str, int]) -> int:
        """Elements of the tensor under a tile: product of the ranks' extents (model.md §1.3)."""
        size = 1
        for _, form in self.projection:
            size *= form.extent(tile)
        return size


@dataclass(frozen=True)
class Einsum:
    """`output[...] = product of inputs[...]`, summed over variables absent from the output."""

    name: str
    accesses: tuple[TensorAccess, ...]
    bounds: Mapping[str, int]  # rank variable -> iterations, in order of first appearance
    renames: Mapping[str, frozenset[str]]  # input, weight, output, … -> tensors
    is_copy: bool = False
    n_instances: int = 1
    combine: Combine = "*"
    starts: Mapping[str, int] = field(default_factory=dict)  # where variables begin in the file

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(access.tensor for access in self.accesses)

    @property
    def inputs(self) -> tuple[TensorAccess, ...]:
        return tuple(access for access in self.accesses if not access.output)

    @cached_property
    def outputs(self) -> tuple[TensorAccess, ...]:
        return tuple(access for access in self.accesses if access.output)

    def access(self, tensor: str) -> TensorAccess:
        """Return the access of `tensor`; KeyError if this Einsum does not touch it."""
        return self._access[tensor]

    @cached_property
    def _access(self) -> Mapping[str, TensorAccess]:
        return {access.tensor: access for access in reversed(self.accesses)}  # the first one counts

    @property
    def operations(self) -> int:
        """Points of the iteration space."""
        product = 1
        for bound in self.bounds.values():
            product *= bound
        return product
