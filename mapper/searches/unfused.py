"""Join mappings of single Einsums into a mapping of the workload, unfused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.mapper.mapping.mapping import Mapping, Node, Sequential, Storage
from tilewright.mapper.workload.workload import Workload


def shared_tensors(workload: Workload) -> frozenset[str]:
    """Return the names of the tensors that more than one Einsum reads or writes."""
    seen: set[str] = set()
    shared: set[str] = set()
    for einsum in workload.einsums:
        shared |= seen & set(einsum.tensors)
        seen |= set(einsum.tensors)
    return frozenset(shared)


def unfused_mapping(workload: Workload, mappings: Sequence[Mapping]) -> Mapping:
    """Join one mapping per Einsum into a mapping of the workload, without fusion.

    The Einsums run one after the other. The first holders of shared tensors stand above all, each
    tensor once.
    """
    shared = shared_tensors(workload)
    first: dict[str, Storage] = {}
    branches = tuple(_lifted(mapping, shared, first) for mapping in mappings)
    order = [t for t in workload.tensors if t in first]
    return Mapping((*(first[t] for t in order), Sequential(branches)))


def _lifted(
    mapping: Mapping, shared: frozenset[str], first: dict[str, Storage]
) -> tuple[Node, ...]:
    """Return the nodes without the first holder of each `shared` tensor; put those into `first`."""
    seen: set[str] = set()
    branch: list[Node] = []
    for node in mapping.nodes:
        if not isinstance(node, Storage):
            branch.append(node)
            continue
        lifted = [t for t in node.tensors if t in shared and t not in seen]
        seen |= set(node.tensors)
        for tensor in lifted:
            first.setdefault(tensor, replace(node, tensors=(tensor,)))
        remaining_tensors = tuple(t for t in node.tensors if t not in lifted)
        if remaining_tensors:
            branch.append(replace(node, tensors=remaining_tensors))
    return tuple(branch)
