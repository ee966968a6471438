"""A workload as a person reads it: its Einsums with their sizes, its tensors with their users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import shortened, some, with_unit
from tilewright.arch.text_table import text_table
from tilewright.mapper.workload.notation import einsum_text

if TYPE_CHECKING:
    from fractions import Fraction

    from tilewright.mapper.workload.einsum import Einsum
    from tilewright.mapper.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """One tensor of a workload.

    `shape`: extent by rank; `values`: their product; `bits_per_value`; `writer`: the Einsum that
    writes it, None for an input; `readers`: those that read it.
    """

    name: str
    shape: tuple[tuple[str, int], ...]
    values: int
    bits_per_value: Fraction
    writer: str | None
    readers: tuple[str, ...]

    @property
    def bits(self) -> Fraction:
        """Bits of the whole tensor."""
        return self.values * self.bits_per_value

    @property
    def is_exchanged(self) -> bool:
        """Whether one Einsum writes it and others read it."""
        return self.writer is not None and bool(self.readers)

    def document(self) -> dict[str, Any]:
        """Return the facts as JSON data."""
        return {
            "name": self.name,
            "shape": dict(self.shape),
            "values": self.values,
            "bits_per_value": self.bits_per_value,
            "bits": self.bits,
            "from": self.writer,
            "to": list(self.readers),
        }


def tensor_facts(workload: Workload) -> tuple[TensorFacts, ...]:
    """Return the tensors of a workload in order of first use.

    The shape is that of the Einsum that writes the tensor, or else of the first one that reads it.
    """
    return tuple(_tensor(name, workload) for name in workload.tensors)


def _tensor(name: str, workload: Workload) -> TensorFacts:
    users = [einsum for einsum in workload.einsums if name in einsum.tensors]
    writers = [einsum for einsum in users if einsum.access(name).output]
    first = (writers or users)[0]
    access = first.access(name)
    return TensorFacts(
        name,
        tuple((rank, form.extent(first.bounds)) for rank, form in access.projection),
        access.tile_size(first.bounds),
        access.bits_per_value,
        writers[0].name if writers else None,
        tuple(einsum.name for einsum in users if _reads(einsum, name)),
    )


def _reads(einsum: Einsum, tensor: str) -> bool:
    return any(access.tensor == tensor for access in einsum.inputs)


def einsum_document(einsum: Einsum) -> dict[str, Any]:
    """Return what a workload says of an Einsum as JSON data."""
    return {
        "name": einsum.name,
        "einsum": einsum_text(einsum),
        "sizes": dict(einsum.bounds),
        "operations": 0 if einsum.is_copy else einsum.operations,
        "instances": einsum.n_instances,
        "renames": {name: sorted(of) for name, of in einsum.renames.items()},
    }


def workload_document(workload: Workload) -> dict[str, Any]:
    """Return Einsums and tensors of a workload as JSON data."""
    return {
        "operations": workload.operations,
        "einsums": [einsum_document(einsum) for einsum in workload.einsums],
        "tensors": [each.document() for each in tensor_facts(workload)],
    }


def workload_text(workload: Workload) -> str:
    """Return the Einsums and tensors of a workload as two tables for a person to read."""
    tensors = tensor_facts(workload)
    einsum_rows: list[tuple[str, ...]] = [("Einsum", "computes", "sizes", "operations", "times")]
    einsum_rows += [_einsum_row(einsum) for einsum in workload.einsums]
    tensor_rows: list[tuple[str, ...]] = [
        ("tensor", "shape", "values", "bits each", "size", "from", "to")
    ]
    tensor_rows += [_tensor_row(each) for each in tensors]
    return "\n".join(
        [
            *text_table(einsum_rows, "<<<>>"),
            "",
            *text_table(tensor_rows, "<<>>><<"),
            "",
            in_one_line(workload),
            _traffic(tensors),
        ]
    )


def in_one_line(workload: Workload) -> str:
    """Return how many Einsums and operations a workload has."""
    operations = shortened(workload.operations)
    return f"{some(len(workload.einsums), 'Einsum')}, {operations} operations"


def _traffic(tensors: tuple[TensorFacts, ...]) -> str:
    outside = sum(float(each.bits) for each in tensors if not each.is_exchanged)
    between = sum(float(each.bits) for each in tensors if each.is_exchanged)
    exchanged = f"; exchanged between Einsums: {with_unit(between, 'bit')}" if between else ""
    return f"inputs and outputs: {with_unit(outside, 'bit')}{exchanged}"


def _einsum_row(einsum: Einsum) -> tuple[str, ...]:
    return (
        einsum.name,
        einsum_text(einsum),
        ", ".join(f"{name} {bound}" for name, bound in einsum.bounds.items()),
        "copy" if einsum.is_copy else f"{einsum.operations:,}",
        f"× {einsum.n_instances}" if einsum.n_instances != 1 else "",
    )


def _tensor_row(tensor: TensorFacts) -> tuple[str, ...]:
    return (
        tensor.name,
        " × ".join(str(extent) for _, extent in tensor.shape) or "one value",
        f"{tensor.values:,}",
        f"{float(tensor.bits_per_value):g}",
        with_unit(float(tensor.bits), "bit"),
        tensor.writer or "",
        ", ".join(tensor.readers),
    )
