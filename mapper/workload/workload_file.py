"""The workload file as it is written (inputs.md §3): its fields, nothing evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tilewright.arch.spec.schema import SpecModel


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
    """A name for the tensors or rank variables that an expression selects."""

    name: str
    source: Any
    expected_count: int | str | None = None


Renames = Annotated[tuple[RenameSpec, ...], BeforeValidator(_as_renames)]


class AccessSpec(SpecModel):
    """A tensor that an Einsum reads or writes, in the long form."""

    name: str
    projection: dict[str, str | int] | tuple[str, ...]
    output: bool = False
    persistent: bool = False
    bits_per_value: Bits | None = None
    backing_storage_size_scale: float = 1.0  # accepted for old files; means nothing


class EinsumSpec(SpecModel):
    """Concise (`einsum:`) or long (`name:` and `tensor_accesses:`)."""

    einsum: str | None = None
    name: str | None = None
    tensor_accesses: tuple[AccessSpec, ...] = ()
    rank_sizes: dict[str, Size] = Field(default_factory=dict)
    iteration_space_shape: tuple[str, ...] | dict[str, str] = ()
    is_copy_operation: bool = False
    renames: Renames = ()
    n_instances: Size = 1


class WorkloadSpec(SpecModel):
    """The keys under `workload:`."""

    version: Any = None  # of old files, as is shape: the former name of iteration_space_shape
    shape: tuple[str, ...] | dict[str, str] = ()
    einsums: tuple[Any, ...]
    rank_sizes: dict[str, Size] = Field(default_factory=dict)
    iteration_space_shape: tuple[str, ...] | dict[str, str] = ()
    bits_per_value: dict[str, Bits] = Field(default_factory=dict)
    persistent_tensors: Any = None
    n_instances: Size = 1


class EinsumRenamesSpec(SpecModel):
    """The renames of one Einsum, or of all under the name `default`."""

    name: str
    tensor_accesses: Renames = ()
    rank_variables: Renames = ()


class RenamesSpec(SpecModel):
    """The keys under `renames:`."""

    einsums: tuple[EinsumRenamesSpec, ...] = ()
