"""Pictures of a workload: the cascade as text and as Mermaid."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.notation import einsum_text


class EinsumCascade(Protocol):
    """Einsums in order of execution, such as those of a Workload, with all their tensors."""

    @property
    def einsums(self) -> Sequence[Einsum]:
        """The Einsums, in order of execution."""
        ...

    @property
    def tensors(self) -> Sequence[str]:
        """Names of all tensors, in order of first use."""
        ...


def cascade_text(workload: EinsumCascade) -> str:
    """Return a workload as text, one block per Einsum, in order of execution.

    A block has the computation, its number of operations, its bounds, and each tensor with its
    size in values and bits; `from` and `to` name the Einsums that write and read it.
    """
    lines: list[str] = []
    for einsum in workload.einsums:
        bounds = ", ".join(f"{name} {bound}" for name, bound in einsum.bounds.items())
        times = f", {einsum.n_instances} instances" if einsum.n_instances != 1 else ""
        work_text = "copy" if einsum.is_copy else f"{einsum.operations} operations"
        lines += [f"{einsum.name}: {einsum_text(einsum)}", f"    {work_text} ({bounds}){times}"]
        for access in (*einsum.outputs, *einsum.inputs):
            lines.append(f"    {_tensor(access, einsum)}{_neighbours(access, workload)}")
    return "\n".join(lines) + "\n"


def cascade_mermaid(workload: EinsumCascade) -> str:
    """Return a workload as the text of a Mermaid flowchart.

    Einsums are boxes, tensors rounded, arrows follow the data.
    """
    lines = ["flowchart TD"]
    tensors = {name: f"t{number}" for number, name in enumerate(workload.tensors)}
    for name, node in tensors.items():
        access = _first_access(name, workload)
        ranks = ", ".join(rank for rank, _ in access.projection)
        lines.append(f'  {node}(["{escape(name)}[{escape(ranks)}]"])')
    for number, einsum in enumerate(workload.einsums):
        work_text = "copy" if einsum.is_copy else f"{einsum.operations} operations"
        times = f" × {einsum.n_instances}" if einsum.n_instances != 1 else ""
        title = f"<b>{escape(einsum.name)}</b><br/><small>{work_text}{times}</small>"
        lines.append(f'  e{number}["{title}"]')
        lines += [f"  {tensors[a.tensor]} --> e{number}" for a in einsum.inputs]
        lines += [f"  e{number} --> {tensors[a.tensor]}" for a in einsum.outputs]
    return "\n".join(lines) + "\n"


def _tensor(access: TensorAccess, einsum: Einsum) -> str:
    values = access.tile_size(einsum.bounds)
    lasting = ", persistent" if access.persistent else ""
    bits = values * access.bits_per_value
    return f"{access.tensor}: {values} values, {float(bits):.15g} bits{lasting}"


def _neighbours(access: TensorAccess, workload: EinsumCascade) -> str:
    users = [e for e in workload.einsums if access.tensor in e.tensors]
    if access.output:
        readers = [e.name for e in users if not e.access(access.tensor).output]
        return f", to {', '.join(readers)}" if readers else ""
    readers = [e.name for e in users if e.access(access.tensor).output]
    return f", from {', '.join(readers)}" if readers else ""


def _first_access(tensor: str, workload: EinsumCascade) -> TensorAccess:
    return next(e.access(tensor) for e in workload.einsums if tensor in e.tensors)
