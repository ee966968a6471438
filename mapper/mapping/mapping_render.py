"""A mapping as text: one line per node, indented like the loop nest it stands for."""

from __future__ import annotations

from tilewright.mapper.mapping.mapping import (
    Compute,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)

_STEP = "  "


def loop_nest(mapping: Mapping) -> str:
    """Return `mapping` as an aligned loop nest, one line per node.

    `for` is a temporal loop, `parfor` a spatial one; the number is the tile below the loop.
    """
    lines: list[tuple[str, str]] = []
    _write(mapping.nodes, 0, lines)
    width = max((len(left) for left, right in lines if right), default=0)
    return "\n".join(f"{left:<{width}}  {right}" if right else left for left, right in lines)


def _write(nodes: tuple[Node, ...], depth: int, lines: list[tuple[str, str]]) -> None:
    for node in nodes:
        indent = _STEP * depth
        match node:
            case Storage(tensors, component, persistent):
                lasting = " (persistent)" if persistent else ""
                lines.append((f"{indent}[{component}] {', '.join(tensors)}{lasting}", ""))
            case Temporal(variable, tile, initial, names):
                first = f", first {initial}" if initial is not None else ""
                called = "".join(f" = {name} of {einsum}" for einsum, name in names)
                lines.append((f"{indent}for {variable}{called}", f"tile {tile}{first}"))
                depth += 1
            case Spatial(variable, tile, name, component):
                lines.append((f"{indent}parfor {variable}", f"tile {tile} over {component}.{name}"))
                depth += 1
            case Compute(einsum, component):
                lines.append((f"{indent}compute {einsum} on {component}", ""))
            case Sequential(branches, kind):
                what = "stage" if kind == "Pipeline" else "step"
                for number, branch in enumerate(branches, start=1):
                    lines.append((f"{indent}{what} {number}:", ""))
                    _write(branch, depth + 1, lines)
