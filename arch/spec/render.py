"""Pictures of an architecture: a text tree, Mermaid, and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import LeafSpec
from tilewright.arch.spec.tree import Node

_COLORS = {
    "Memory": ("#e8f1fb", "#2b6cb0"),
    "Toll": ("#fdf3e1", "#b7791f"),
    "Compute": ("#e9f7ec", "#2f855a"),
    "Container": ("#f3f4f6", "#6b7280"),
    "Network": ("#f4ecfb", "#7b45b5"),
    "Array": ("#fbeaf3", "#b83280"),
    "Fork": ("#ffffff", "#9ca3af"),
}
_UNITS = ((2**33, "GiB"), (2**23, "MiB"), (2**13, "KiB"), (8, "B"))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the picture of an architecture: a node of its tree.

    `depth`: its indentation; `parent`: number of the row that it is drawn below, None at the top;
    `label`: name; `fanout`, `note`: further words.
    """

    node: Node
    depth: int
    parent: int | None
    label: str
    fanout: str
    note: str


def rows(arch: Arch) -> tuple[Row, ...]:
    """Return the components of an architecture as rows of a picture, top-down.

    Forks and Hierarchical nodes have no rows of their own; the children of a Fork or of an Array,
    and Computes that others follow, step to the right.
    """
    table_rows: list[Row] = []
    _BoxLayout(arch, table_rows).visit(arch.root.children, 0, None)
    return tuple(table_rows)


def text_tree(arch: Arch) -> str:
    """Return the architecture as an indented tree of text, one component per line."""
    table = rows(arch)
    names = [f"{'   ' * row.depth}{'└─ ' if row.depth else ''}{row.label}" for row in table]
    width = max(map(len, names), default=0)
    lines = []
    for row, name in zip(table, names, strict=True):
        extra = "  ".join(part for part in (row.fanout, row.note) if part)
        lines.append(f"{name:<{width}}  {row.node.tag:<9}  {extra}".rstrip())
    return "\n".join(lines) + "\n"


def mermaid(arch: Arch) -> str:
    """Return the architecture as the text of a Mermaid flowchart; edges carry the fanouts."""
    table = rows(arch)
    lines = ["flowchart TD", *(_mermaid_node(index, row) for index, row in enumerate(table))]
    for index, row in enumerate(table):
        if row.parent is not None:
            label = f'|"{escape(row.fanout)}"|' if row.fanout else ""
            lines.append(f"  n{row.parent} -->{label} n{index}")
    for tag, (fill, line) in _COLORS.items():
        members = [f"n{index}" for index, row in enumerate(table) if row.node.tag == tag]
        if members:
            lines.append(f"  classDef {tag} fill:{fill},stroke:{line},color:#111827")
            lines.append(f"  class {','.join(members)} {tag}")
    return "\n".join(lines) + "\n"


def _mermaid_node(index: int, row: Row) -> str:
    note = f"<br/><small>{escape(row.note)}</small>" if row.note else ""
    left, right = ("([", "])") if row.node.tag == "Compute" else ("[", "]")
    text = escape(row.label).replace('"', "&quot;")
    return f'  n{index}{left}"<b>{text}</b><br/>{row.node.tag}{note}"{right}'


def svg(arch: Arch) -> str:
    """Return the architecture as a stand-alone SVG picture."""
    table = rows(arch)
    return _Drawing(table).text()


class _BoxLayout:
    """Walks the tree of an architecture and lists the rows of its picture."""

    def __init__(self, arch: Arch, table_rows: list[Row]) -> None:
        self.arch = arch
        self.rows = table_rows

    def visit(self, nodes: tuple[Node, ...], depth: int, parent: int | None) -> int | None:
        """Add rows for `nodes`; return the number of the row below which the next node is drawn.

        `parent`: number of the row below which the first is drawn.
        """
        for index, node in enumerate(nodes):
            if node.tag == "Hierarchical":
                parent = self.visit(node.children, depth, parent)
            elif node.tag == "Fork":
                self.visit(node.children, depth + 1, parent)
            elif node.tag == "Array":
                row = self._add(node, depth, parent)
                self.visit(node.children, depth + 1, row)
                parent = row
            elif node.tag == "Compute" and index < len(nodes) - 1:
                self._add(node, depth + 1, parent)
            else:
                parent = self._add(node, depth, parent)
        return parent

    def _add(self, node: Node, depth: int, parent: int | None) -> int:
        label, fanout, note = _words(node)
        self.rows.append(Row(node, depth, parent, label, fanout, note))
        return len(self.rows) - 1


class _Drawing:
    """Draws rows as SVG: boxes one below another, branches at the right, fanouts on the lines."""

    width, height, gap, step, margin = 264, 46, 26, 44, 20

    def __init__(self, table: tuple[Row, ...]) -> None:
        self.table = table

    def text(self) -> str:
        deepest = max((row.depth for row in self.table), default=0)
        wide = 2 * self.margin + self.width + deepest * self.step
        high = 2 * self.margin + len(self.table) * (self.height + self.gap) - self.gap
        parts = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
                f'viewBox="0 0 {wide} {high}" role="img" '
                'font-family="system-ui, -apple-system, Segoe UI, sans-serif">'
            ),
            f'<rect width="{wide}" height="{high}" rx="10" fill="#ffffff"/>',
            *self._lines(),
            *self._cards(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _corner(self, index: int) -> tuple[int, int]:
        x = self.margin + self.table[index].depth * self.step
        return x, self.margin + index * (self.height + self.gap)

    def _lines(self) -> Iterator[str]:
        for index, row in enumerate(self.table):
            if row.parent is None:
                continue
            x0, y0 = self._corner(row.parent)
            x1, y1 = self._corner(index)
            start = x0 + self.step // 2
            if x1 > x0:
                end = y1 + self.height // 2
                path = f"M{start} {y0 + self.height} V{end} H{x1}"
            else:
                path = f"M{start} {y0 + self.height} V{y1}"
            yield f'<path d="{path}" fill="none" stroke="#9ca3af" stroke-width="1.5"/>'
            if row.fanout:
                yield (
                    f'<text x="{x1 + self.step // 2 + 8}" y="{y1 - 8}" font-size="11" '
                    f'fill="#4b5563">{escape(row.fanout)}</text>'
                )

    def _cards(self) -> Iterator[str]:
        for index, row in enumerate(self.table):
            x, y = self._corner(index)
            fill, line = _COLORS[row.node.tag]
            yield (
                f'<g><title>{escape(row.label)}</title><rect x="{x}" y="{y}" '
                f'width="{self.width}" height="{self.height}" rx="8" fill="{fill}" '
                f'stroke="{line}"/><rect x="{x}" y="{y + 8}" width="4" '
                f'height="{self.height - 16}" rx="2" fill="{line}"/>'
            )
            yield (
                f'<text x="{x + 16}" y="{y + 20}" font-size="13" font-weight="600" '
                f'fill="#111827">{escape(_cut(row.label, 24))}</text>'
                f'<text x="{x + self.width - 12}" y="{y + 20}" font-size="11" '
                f'text-anchor="end" fill="{line}">{row.node.tag}</text>'
                f'<text x="{x + 16}" y="{y + 36}" font-size="11" fill="#4b5563">'
                f"{escape(_cut(row.note, 40))}</text></g>"
            )


def _words(node: Node) -> tuple[str, str, str]:
    """Return name, fanout and one line of detail of a component, as written in the file."""
    spec = node.spec
    assert isinstance(spec, LeafSpec)
    fanout = " ".join(f"×{dim.fanout} {dim.name}" for dim in spec.spatial)
    details = []
    size = getattr(spec, "size", None)
    if size is not None:
        details.append(_size(size))
    if spec.enabled is not True:
        details.append(f"enabled: {spec.enabled}")
    tensors = getattr(spec, "tensors", None)
    if tensors is not None and tensors.keep is not None:
        details.append(f"keep: {_set(tensors.keep)}")
    topology = getattr(spec, "topology", None)
    if topology:
        details.append(str(topology))
    return node.name, fanout, " · ".join(details)


def _set(written: object) -> str:
    return ", ".join(map(str, written)) if isinstance(written, tuple) else str(written)


def _size(size: object) -> str:
    """Return a size as text, in bytes if it is written as a plain number of bits."""
    from tilewright.arch.errors import TilewrightError
    from tilewright.arch.expressions.expressions import evaluate

    try:
        bits = evaluate(size, {})
    except TilewrightError:
        return str(size)
    if not isinstance(bits, int | float):
        return str(size)
    for unit, name in _UNITS:
        if unit <= bits < float("inf"):
            return f"{bits / unit:g} {name}"
    return "unlimited" if bits == float("inf") else f"{bits:g} bits"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


RENDERERS = {"text": text_tree, "mermaid": mermaid, "svg": svg}


def render(arch: Arch, form: str = "text") -> str:
    """Return a picture of an architecture; `form` is text, mermaid or svg, else SpecError."""
    from tilewright.arch.errors import SpecError

    if form not in RENDERERS:
        raise SpecError(
            f"there is no picture of the form {form}", instead=did_you_mean(form, RENDERERS) or None
        )
    return RENDERERS[form](arch)
