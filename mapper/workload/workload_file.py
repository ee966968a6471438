"""The workload file as it is written (inputs.md §3): its fields, nothing evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tilewright.arch.spec.schema import SpecModel, no_entries


def _number_or_text(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


Size = Annotated[int | str, BeforeValidator(_number_or_text)]
Bits = Annotated[float | int | str, BeforeValidator(_number_or_text)]


def _as_renames(value: object) -> object:
    """Accept `{input: A}` beside the list form."""
    if isinstance(value, Mapping):
        return [{"name": name, "source": source} for name, source in value.items()]
    return value


class RenameSpec(SpecModel):
    """An entry of a renames list: a general name for the tensors or rank variables of a set.

    `source`: the set expression that selects them. `expected_count`: how many it must select, a
    number or an expression; None if any.
    """

    name: str
    source: Any
    expected_count: int | str | None = None


Renames = Annotated[tuple[RenameSpec, ...], BeforeValidator(_as_renames)]


class AccessSpec(SpecModel):
    """A tensor that an Einsum reads or writes, in the long form of a workload file.

    `projection`: rank to index expression, or a list of rank variables. `output`: it is written.
    `persistent`: it stays in memory for all instances. `bits_per_value`: width in bits, a number
    or an expression; None for that of the workload. `backing_storage_size_scale` has no effect.
    """

    name: str
    projection: dict[str, str | int] | tuple[str, ...]
    output: bool = False
    persistent: bool = False
    bits_per_value: Bits | None = None
    backing_storage_size_scale: float = 1.0  # accepted for old files; means nothing


class EinsumSpec(SpecModel):
    """An Einsum as a workload file writes it.

    Either concise (`einsum:` with one text) or long (`name:` and `tensor_accesses:`).
    `rank_sizes`: extent per rank. `pad`: how far indices may reach beyond both ends of a rank,
    where values are 0. `iteration_space_shape`: bounds on rank variables, such as "0 <= m < 8".
    `is_copy_operation`: it moves its input and computes nothing. `renames`: general names
    for its tensors. `n_instances`: how often it runs with other data.
    """

    einsum: str | None = None
    name: str | None = None
    tensor_accesses: tuple[AccessSpec, ...] = ()
    rank_sizes: dict[str, Size] = Field(default_factory=no_entries)
    pad: dict[str, Size] = Field(default_factory=no_entries)
    iteration_space_shape: tuple[str, ...] | dict[str, str] = ()
    is_copy_operation: bool = False
    renames: Renames = ()
    n_instances: Size = 1


class WorkloadSpec(SpecModel):
    """The keys under `workload:` of a workload file.

    `einsums`: the Einsums, as texts or mappings. `rank_sizes`, `pad`, `iteration_space_shape`:
    extents, padding and bounds for all of them. `bits_per_value`: set expression to width in bits.
    `persistent_tensors`: set expression of tensors that stay in memory. `integers`: set expression
    of tensors whose values are integers. `n_instances`: factor for every Einsum. `version` and
    `shape` are of old files.
    """

    version: Any = None  # of old files, as is shape: the former name of iteration_space_shape
    shape: tuple[str, ...] | dict[str, str] = ()
    einsums: tuple[Any, ...]
    rank_sizes: dict[str, Size] = Field(default_factory=no_entries)
    pad: dict[str, Size] = Field(default_factory=no_entries)
    iteration_space_shape: tuple[str, ...] | dict[str, str] = ()
    bits_per_value: dict[str, Bits] = Field(default_factory=no_entries)
    persistent_tensors: Any = None
    integers: Any = None
    n_instances: Size = 1


class EinsumRenamesSpec(SpecModel):
    """The general names of one Einsum, or of all Einsums under the name `default`.

    `tensor_accesses`, `rank_variables`: entries that name sets of tensors or of rank variables.
    """

    name: str
    tensor_accesses: Renames = ()
    rank_variables: Renames = ()


class RenamesSpec(SpecModel):
    """The keys under `renames:` of a workload file: `einsums`, the names per Einsum."""

    einsums: tuple[EinsumRenamesSpec, ...] = ()
