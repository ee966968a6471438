"""One tensor computation: rank variables, projections, tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Literal

from tilewright.mapper.workload.formulas.formula import Formula

Relevance = Literal["irrelevant", "relevant", "partial"]
Combine = Literal["*", "+"]  # what one operation does with the values of the inputs


@dataclass(frozen=True, slots=True)
class Affine:
    """An affine form over rank variables, such as the index `2*p + r` of a tensor's rank.

    `terms`: pairs (rank variable, factor), in the order written. `constant`: what is added, for
    variables that begin at 0; if they begin elsewhere in the file, that is part of it.
    `point_extent`: positions that one point counts for, 1 but under accelforge
    (docs/conventions.md §12). `2*p + r` is Affine((("p", 2), ("r", 1))).
    """

    terms: tuple[tuple[str, int], ...]
    constant: int = 0
    point_extent: int = 1

    def extent(self, tile: Mapping[str, int]) -> int:
        """Return how many positions the form spans over a tile.

        `tile[v]`: values of rank variable v in the tile. `2*p + r` spans 1 + 2 * 3 + 2 = 9
        positions over p = 4, r = 3.
        """
        return self.point_extent + sum(
            abs(factor) * (tile[name] - 1) for name, factor in self.terms
        )

    @property
    def is_single(self) -> bool:
        """Whether the form has exactly one variable, with any factor: its tiles do not overlap."""
        return len(self.terms) == 1 and self.point_extent == 1

    def written(self, starts: Mapping[str, int]) -> int:
        """Return the constant as the file has it, where rank variables need not begin at 0.

        `starts`: first value of each variable, 0 if absent.
        """
        return self.constant - sum(factor * starts.get(name, 0) for name, factor in self.terms)

    def value(self, point: Mapping[str, int]) -> int:
        """Return the value of the form at one point of the iteration space.

        `point`: a value per rank variable, counted from 0. `2*p + r` at p = 3, r = 1 is 7.
        """
        return self.constant + sum(factor * point[name] for name, factor in self.terms)

    def ends(self, bounds: Mapping[str, int]) -> tuple[int, int]:
        """Return the least and the greatest value over variables that count from 0.

        `bounds[v]`: values of rank variable v. `2*p + r - 1` over p = 4, r = 3 is (-1, 7).
        """
        last = [factor * (bounds[name] - 1) for name, factor in self.terms]
        low = self.constant + sum(min(0, value) for value in last)
        return low, self.constant + sum(max(0, value) for value in last)


@dataclass(frozen=True)
class TensorAccess:
    """How an Einsum reads or writes one tensor.

    `tensor`: its name. `projection`: pairs (rank, affine form of the rank variables that index
    it), in rank order. `output`: it is written. `persistent`: it stays in memory for all instances
    of the Einsum. `bits_per_value`: width of a value in bits. `same_as`: the tensor whose values
    are read, where the Einsum reads it once more with other indices; such an access is held and
    moved under a name of its own, `A.2` for the second one of `A`. `padded`: pairs (rank, size) of
    the ranks that are read beyond their first or last value, where values are zeros. `integer`:
    values are integers.
    """

    tensor: str
    projection: tuple[tuple[str, Affine], ...]
    output: bool = False
    persistent: bool = False
    bits_per_value: Fraction = Fraction(1)
    same_as: str | None = None
    padded: tuple[tuple[str, int], ...] = ()
    integer: bool = False

    @property
    def values_of(self) -> str:
        """The name of the tensor whose values are read or written."""
        return self.same_as or self.tensor

    @cached_property
    def clipped(self) -> tuple[tuple[int, int], ...]:
        """Numbers and sizes of the ranks whose padding is not read: tiles count inside the rank.

        Padded ranks whose variables stand in no other rank (theory/model.md §3.7).
        """
        sizes = dict(self.padded)
        if not sizes:
            return ()
        names = [{name for name, _ in form.terms} for _, form in self.projection]
        others = [set[str]().union(*names[:i], *names[i + 1 :]) for i in range(len(names))]
        return tuple(
            (i, sizes[rank])
            for i, (rank, _) in enumerate(self.projection)
            if rank in sizes and not names[i] & others[i]
        )

    @cached_property
    def rank_variables(self) -> frozenset[str]:
        """The rank variables that stand in some index of the tensor."""
        return frozenset(name for _, form in self.projection for name, _ in form.terms)

    @cached_property
    def _relevances(self) -> dict[str, Relevance]:
        relevances: dict[str, Relevance] = {}
        for _, form in self.projection:
            for name, _ in form.terms:
                relevances.setdefault(name, "relevant" if form.is_single else "partial")
        return relevances

    def relevance(self, rank_variable: str) -> Relevance:
        """Return how the tensor depends on a rank variable.

        "irrelevant": no index has it, so all its values reuse the tensor; "relevant": it stands
        alone in an index; "partial": it stands in a sum such as `p + r`, so that neighbouring
        tiles overlap. The first index with the variable decides (theory/model.md §1.2).
        """
        return self._relevances.get(rank_variable, "irrelevant")

    def is_plain(self, rank_variable: str) -> bool:
        """Tell whether exactly one index has the variable, alone and with factor 1 or -1.

        Then size of a tile times number of tiles is the same for every tile (theory/model.md
        §1.2).
        """
        forms = [form for _, form in self.projection if rank_variable in dict(form.terms)]
        return len(forms) == 1 and forms[0].is_single and abs(forms[0].terms[0][1]) == 1

    @property
    def point_size(self) -> int:
        """Values of the tensor that a memory holds for one point of the iteration space.

        1 except under the accelforge conventions, where a constant in an index makes tiles larger
        (docs/conventions.md §12). One operation still moves one value.
        """
        return prod(form.point_extent for _, form in self.projection)

    def array_shape(self, bounds: Mapping[str, int]) -> tuple[int, ...]:
        """Return by rank the positions from 0 to the last one used, as an array of values has them.

        `bounds`: values of each rank variable. Behind the values of a padded rank are zeros, which
        no array has.
        """
        sizes = dict(self.padded)
        return tuple(
            sizes[rank] if rank in sizes else max(1, 1 + form.ends(bounds)[1])
            for rank, form in self.projection
        )

    def tile_size(self, tile: Mapping[str, int]) -> int:
        """Return how many values of the tensor a tile of the iteration space touches.

        `tile[v]`: values of rank variable v in the tile. It is the product over the ranks of the
        positions that their indices span (theory/model.md §1.3). For `A[m, p + r]` with m = 2, p =
        4, r = 3: 12.
        """
        size = 1
        for _, form in self.projection:
            size *= form.extent(tile)
        return size


@dataclass(frozen=True)
class Einsum:
    """One tensor computation: an output as a sum of products of inputs.

    The sum runs over the rank variables that the output lacks. `name`: of the Einsum. `accesses`:
    its tensors and their indices. `bounds`: rank variable to iterations, in order of first
    appearance. `renames`: general name (input, weight, output, …) to tensors. `is_copy`: it moves
    a tensor and computes nothing. `n_instances`: how often it runs with other data. `combine`: "*"
    if inputs are multiplied, "+" if added. `starts`: rank variable to its first value in the file,
    if not 0. `formula`: what an operation does with the values of the inputs, in their order, if
    that is neither their product nor their sum.
    """

    name: str
    accesses: tuple[TensorAccess, ...]
    bounds: Mapping[str, int]
    renames: Mapping[str, frozenset[str]]
    is_copy: bool = False
    n_instances: int = 1
    combine: Combine = "*"
    starts: Mapping[str, int] = field(default_factory=dict)
    formula: Formula | None = None

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensors that the Einsum reads or writes, in the order of `accesses`."""
        return tuple(access.tensor for access in self.accesses)

    @cached_property
    def inputs(self) -> tuple[TensorAccess, ...]:
        """The accesses of the tensors that the Einsum reads."""
        return tuple(access for access in self.accesses if not access.output)

    @cached_property
    def outputs(self) -> tuple[TensorAccess, ...]:
        """The accesses of the tensors that the Einsum writes."""
        return tuple(access for access in self.accesses if access.output)

    def access(self, tensor: str) -> TensorAccess:
        """Return how the Einsum reads or writes a tensor.

        Raises KeyError if it does not touch the tensor.
        """
        return self._access[tensor]

    @cached_property
    def _access(self) -> Mapping[str, TensorAccess]:
        return {access.tensor: access for access in reversed(self.accesses)}  # the first one counts

    @property
    def operations(self) -> int:
        """Operations of one instance: the product of all bounds (points of the iteration space).

        For a copy Einsum, too, although it computes nothing.
        """
        product = 1
        for bound in self.bounds.values():
            product *= bound
        return product
