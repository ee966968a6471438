"""What an Einsum brings to the expressions of an architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What one Einsum brings to the expressions of an architecture: names of sets, and widths.

    `einsum`: its name; `tensors`, `rank_variables`: its own. `sets`: All, Tensors, Nothing, Inputs,
    Outputs, Intermediates, Shared, Persistent, each rename (input, weight, ...) and each tensor of
    the workload, to a set of this Einsum's tensors (maybe empty). `rank_variables_of`: tensor to
    the indices that it uses. `bits_per_value`: width by tensor. `is_copy`: the Einsum only copies a
    tensor. `rank_sets`: renames of rank variables, and those of other Einsums (empty sets), to sets
    of rank variables.
    """

    einsum: str
    tensors: tuple[str, ...]
    rank_variables: tuple[str, ...]
    sets: Mapping[str, frozenset[str]]
    rank_variables_of: Mapping[str, frozenset[str]]
    bits_per_value: Mapping[str, Fraction]
    is_copy: bool = False
    rank_sets: Mapping[str, frozenset[str]] = field(default_factory=dict)
