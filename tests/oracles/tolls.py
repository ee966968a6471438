"""Where a Toll is written in a mapping: anywhere between two holders of its tensor."""

from __future__ import annotations

from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Storage
from tilewright.mapper.templates.placement import Template


def tolls_down(template: Template, mapping: Mapping) -> Mapping:
    """Write each Toll as low as its tensor allows: what stands above it may shrink further."""
    passing = {toll.component for toll in template.tolls}
    nodes: list[Node] = []
    waiting: list[Storage] = []
    for node in mapping.nodes:
        if isinstance(node, Storage) and node.component in passing:
            waiting.append(node)
            continue
        if isinstance(node, (Storage, ComputeNode)):
            held = node.tensors if isinstance(node, Storage) else template_tensors(template)
            nodes += [toll for toll in waiting if toll.tensors[0] in held]
            waiting = [toll for toll in waiting if toll.tensors[0] not in held]
        nodes.append(node)
    return Mapping(tuple(nodes))


def template_tensors(template: Template) -> set[str]:
    """Return all tensors of a template."""
    return {holder.tensor for holder in template.holders}
