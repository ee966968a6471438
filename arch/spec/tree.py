"""The tree of nodes of an architecture file, as written: no expression is evaluated yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.schema import SpecModel
from tilewright.arch.spec.spec import LeafSpec


@dataclass(frozen=True, slots=True)
class Node:
    """One node of an architecture's tree, as written: a component or a branch.

    `tag`: Memory, Toll, Compute, Container, Network, Hierarchical, Fork or Array; `spec`: its
    fields; `path`: where it stands in the file's data; `children`: nodes of a branch.
    """

    tag: str
    spec: SpecModel = field(hash=False)
    path: DocPath = field(compare=False)
    children: tuple[Node, ...] = ()

    @property
    def name(self) -> str:
        """Its name; empty for a branch without one."""
        return str(getattr(self.spec, "name", None) or "")

    @property
    def is_leaf(self) -> bool:
        """Whether it is a component: neither a branch nor an Array."""
        return isinstance(self.spec, LeafSpec) and self.tag != "Array"

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, in file order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, name: str, file: str) -> Node:
        """Return the node called `name`, this one or one below it.

        Raises SpecError, which names `file` and close names, if there is none.
        """
        for node in self.walk():
            if node.name == name:
                return node
        names = [node.name for node in self.walk() if node.name]
        raise SpecError(
            f"the architecture has no component {name}",
            where=Where(file),
            instead=did_you_mean(name, names) or None,
        )
