"""Who waits for whom, as text lines and as pictures: Mermaid text and SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.simulator.diagnose.wait_picture import picture


@dataclass(frozen=True, slots=True, order=True)
class End:
    """The cause at the end of a chain of waits.

    `text`: what is wrong there; `node`: the name of the place, a node of the graph of waits.
    """

    text: str
    node: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that something waits for; `text` says what, `ends` are its causes."""

    text: str
    ends: Sequence[End]

    def __str__(self) -> str:
        ends = "; ".join(end.text for end in self.ends if end.text)
        return ": ".join(filter(None, (self.text, ends)))


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that waits: an operation, task, queue or edge port.

    `who`: its name; `reasons`: what it waits for; `place`: the element or queue where it is, which
    others may wait for.
    """

    who: str
    reasons: tuple[Reason, ...] = ()
    place: str = ""

    def __str__(self) -> str:
        last = "".join(f"{', ' if r.text else ': '}{r}" for r in self.reasons)
        return self.who + last


@dataclass(frozen=True, slots=True)
class _WaitGraph:
    nodes: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]
    """(from, to, label)."""


def _graph(waits: Iterable[Wait]) -> _WaitGraph:
    """Return nodes and edges; a wait for an element or queue leads to all waits at it."""
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
                label = reason.text or end.text
                for target in targets:
                    edges.setdefault((numbers[wait.who], target, label))
    return _WaitGraph(tuple(numbers), tuple(edges))


def mermaid(waits: Iterable[Wait]) -> str:
    """Return the graph of who waits for whom as the text of a Mermaid flowchart."""
    graph = _graph(waits)
    lines = ["flowchart LR"]
    lines += [f'  n{i}["{_plain(node)}"]' for i, node in enumerate(graph.nodes)]
    lines += [f'  n{a} -->|"{_plain(label)}"| n{b}' for a, b, label in graph.edges]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("\n", " ")


def svg(waits: Iterable[Wait]) -> str:
    """Return the graph of who waits for whom as an SVG picture."""
    graph = _graph(waits)
    return picture(graph.nodes, graph.edges)
