"""Who waits for whom, as text lines and as pictures: Mermaid text and SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class End:
    """Where a wait leads: what is wrong there, and the place as a node of the graph."""

    text: str
    node: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that is waited for."""

    what: str
    ends: Sequence[End]

    def __str__(self) -> str:
        ends = "; ".join(end.text for end in self.ends if end.text)
        return ": ".join(filter(None, (self.what, ends)))


@dataclass(frozen=True, slots=True)
class Wait:
    """One operation, task, queue or port that waits; `place` is what others wait for."""

    who: str
    reasons: tuple[Reason, ...] = ()
    place: str = ""

    def __str__(self) -> str:
        last = "".join(f"{', ' if r.what else ': '}{r}" for r in self.reasons)
        return self.who + last


@dataclass(frozen=True, slots=True)
class _Graph:
    nodes: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]
    """(from, to, label)."""


def _graph(waits: Iterable[Wait]) -> _Graph:
    """Return nodes and edges; a wait for a place leads to all that waits at the place."""
    waits = tuple(waits)
    numbers: dict[str, int] = {}
    edges: dict[tuple[int, int, str], None] = {}
    for wait in waits:
        numbers.setdefault(wait.who, len(numbers))
    at_place: dict[str, list[int]] = {}
    for wait in waits:
        at_place.setdefault(wait.place, []).append(numbers[wait.who])
    for wait in waits:
        for reason in wait.reasons:
            for end in reason.ends:
                targets = at_place.get(end.node)
                if targets is None:
                    targets = [numbers.setdefault(end.node, len(numbers))]
                label = reason.what or end.text
                for target in targets:
                    edges.setdefault((numbers[wait.who], target, label))
    return _Graph(tuple(numbers), tuple(edges))


def mermaid(waits: Iterable[Wait]) -> str:
    """Return the graph as a Mermaid flowchart."""
    graph = _graph(waits)
    lines = ["flowchart LR"]
    lines += [f'  n{i}["{_plain(node)}"]' for i, node in enumerate(graph.nodes)]
    lines += [f'  n{a} -->|"{_plain(label)}"| n{b}' for a, b, label in graph.edges]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("\n", " ")


WIDTH: Final = 1180
NODE: Final = (420, 46)
GAP: Final = 26
STYLE: Final = (
    "text{font:12px sans-serif}.label{fill:#555;font-size:11px}"
    "rect{fill:#eef3fb;stroke:#4a6fa5}path{fill:none;stroke:#b5483a;stroke-width:1.5}"
)


def svg(waits: Iterable[Wait]) -> str:
    """Return the graph as a picture: the nodes one under the other, an arc per wait."""
    graph = _graph(waits)
    wide, high = NODE
    height = GAP + len(graph.nodes) * (high + GAP)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}">'
        ),
        f"<style>{STYLE}</style>",
        (
            '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0,0L8,4L0,8"/></marker></defs>'
        ),
    ]
    for i, node in enumerate(graph.nodes):
        top = GAP + i * (high + GAP)
        parts.append(f'<rect x="10" y="{top}" width="{wide}" height="{high}" rx="4"/>')
        for row, text in enumerate(_wrapped(node, 66)[:3]):
            parts.append(f'<text x="18" y="{top + 15 + 14 * row}">{escape(text)}</text>')
    for number, (a, b, label) in enumerate(graph.edges):
        parts += _arc(a, b, label, number)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arc(a: int, b: int, label: str, number: int) -> list[str]:
    wide, high = NODE
    start = GAP + a * (high + GAP) + high * 0.35
    end = GAP + b * (high + GAP) + high * 0.65
    x = wide + 10
    reach = x + 40 + 12 * (number % 16) + 8 * abs(a - b)
    reach = min(reach, x + 360)
    path = f"M{x},{start:.0f}C{reach},{start:.0f} {reach},{end:.0f} {x},{end:.0f}"
    middle = (start + end) / 2
    return [
        f'<path d="{path}" marker-end="url(#end)"/>',
        (
            f'<text class="label" x="{x + (reach - x) * 0.76 + 6:.0f}" y="{middle + 4:.0f}">'
            f"{escape(label)}</text>"
        ),
    ]


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
