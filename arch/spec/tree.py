"""The architecture as written: a frozen tree of nodes whose expressions are not evaluated yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath, Document
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.schema import SpecModel
from tilewright.arch.spec.spec import LeafSpec

if TYPE_CHECKING:
    from tilewright.arch.components.estimate import Estimator


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the tree. `tag` is Memory, Toll, Compute, Container, Network, Fork, …."""

    tag: str
    spec: SpecModel = field(hash=False)
    path: DocPath = field(compare=False)
    children: tuple[Node, ...] = ()

    @property
    def name(self) -> str:
        return str(getattr(self.spec, "name", None) or "")

    @property
    def is_leaf(self) -> bool:
        return isinstance(self.spec, LeafSpec) and self.tag != "Array"

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, in file order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture file, read and checked; `flatten` evaluates it for an Einsum.

    Equal if they say the same, wherever they were written.
    """

    root: Node
    variables: Mapping[str, object]
    extra_attributes: Mapping[str, object]
    document: Document = field(compare=False, repr=False)
    variable_places: Mapping[str, Where] = field(compare=False, repr=False)
    estimators: tuple[Estimator, ...] = field(default=(), compare=False)

    def leaves(self) -> tuple[Node, ...]:
        """All components, in file order."""
        return tuple(node for node in self.root.walk() if node.is_leaf)

    def node(self, name: str) -> Node:
        """Return the node called `name`; SpecError with close names if there is none."""
        for node in self.root.walk():
            if node.name == name:
                return node
        known = [node.name for node in self.root.walk() if node.name]
        raise SpecError(
            f"the architecture has no component {name}",
            where=Where(self.document.file),
            instead=did_you_mean(name, known) or None,
        )

    def where(self, node: Node, *steps: str | int) -> Where:
        """Return the place of a field of `node`."""
        return self.document.where((*node.path, *steps))

    def with_values(self, values: Mapping[str, object]) -> Arch:
        """Return a new architecture with some fields written differently.

        Keys are `Component.field`, `Component.spatial.Z.fanout`, `Component.actions.read.energy`
        or `variables.NAME`. SpecError for a name that does not exist, with close ones.
        """
        from tilewright.arch.spec.override import override

        return override(self, values)

    def with_estimators(self, *estimators: Estimator) -> Arch:
        """Return the same architecture whose missing costs come from `estimators`, in order."""
        return replace(self, estimators=estimators)
