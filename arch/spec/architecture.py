"""The architecture as written, checked: a tree of nodes, variables, sources of missing costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath, Document, Tagged
from tilewright.arch.files.toplevel import check_top_level
from tilewright.arch.spec.build_tree import build_tree
from tilewright.arch.spec.override import override, written
from tilewright.arch.spec.schema import parse
from tilewright.arch.spec.spec import LEAVES, ArchSpec, CostTableSpec
from tilewright.arch.spec.tree import Node

if TYPE_CHECKING:
    from tilewright.arch.components.cost_query import Estimator

_FEW = 8  # names in the short form of an architecture
_MOST_EDITED = 512


class _Edit(NamedTuple):
    """A node before and after an edit of the file's data (`Arch.with_values`)."""

    before: Node
    after: Node


_EditKey = tuple[object, ...]  # identity of the node before, and what was changed
_EDITED: dict[_EditKey, _Edit] = {}
"""The last edits."""


def _written_before(key: _EditKey, node: Node) -> Node | None:
    """Return the node that an earlier edit made of `node`; None if there was none.

    `key`: the edit. Identities of deleted nodes may come again, so that the node itself is
    compared.
    """
    edit = _EDITED.get(key)
    return edit.after if edit is not None and edit.before is node else None


def _remember(key: _EditKey, edit: _Edit) -> None:
    _EDITED[key] = edit
    if len(_EDITED) > _MOST_EDITED:
        _EDITED.pop(next(iter(_EDITED)))


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture file, read and checked, with its expressions not yet evaluated.

    `root`: tree of its nodes; `variables`: values and expressions by name; `extra_attributes`:
    fields that all estimators see; `document`: the data with places; `variable_places`: of the
    variables; `estimators`: sources of missing costs. `flatten` evaluates it for an Einsum. Two are
    equal if they say the same, wherever it was written.
    """

    root: Node
    variables: Mapping[str, object]
    extra_attributes: Mapping[str, object]
    document: Document = field(compare=False, repr=False)
    variable_places: Mapping[str, Where] = field(compare=False, repr=False)
    estimators: tuple[Estimator, ...] = field(default=(), compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        """All files that the architecture was read from: included ones and cost tables, too."""
        if not self.estimators:
            return self.document.files
        from tilewright.arch.components.cost_table import CostTable

        tables = [table.source for table in self.estimators if isinstance(table, CostTable)]
        return tuple(dict.fromkeys((*self.document.files, *tables)))

    def leaves(self) -> tuple[Node, ...]:
        """Return the nodes of all components, in file order."""
        return tuple(node for node in self.root.walk() if node.is_leaf)

    def node(self, name: str) -> Node:
        """Return the node called `name`; SpecError, with close names, if there is none."""
        return self.root.find(name, self.document.file)

    def where(self, node: Node, *steps: str | int) -> Where:
        """Return the place in the file of a field of a node, at the path `steps` in it."""
        return self.document.where((*node.path, *steps))

    def with_values(self, values: Mapping[str, object]) -> Arch:
        """Return a copy with some fields or variables written differently.

        Keys are `Component.field`, `Component.spatial.Z.fanout`, `Component.actions.read.energy` or
        `variables.NAME`. Raises SpecError for a name that does not exist, with close ones, and for
        a value that the field cannot have.
        """
        changed, variables = override(self.document, self.root, self.variables, values)
        return replace(
            self, root=self._rebuilt(changed, values), variables=variables, document=changed
        )

    def value_of(self, key: str) -> object | None:
        """Return a field or variable as it is written, by its key in `with_values`.

        None where nothing is written. Raises SpecError for a name that does not exist.
        """
        return written(self.document, self.root, self.variables, key)

    def _rebuilt(self, changed: Document, values: Mapping[str, object]) -> Node:
        """Return the tree of a document in which some fields of nodes are written differently.

        Nodes that were written so before are not read again.
        """
        edits: dict[str, list[tuple[str, str]]] = {}
        for name, value in values.items():
            edits.setdefault(name.partition(".")[0], []).append((name, repr(value)))
        leaves = {node.path: node for node in self.root.walk() if node.tag in LEAVES}
        known: dict[DocPath, Node] = {}
        unknown: dict[DocPath, _EditKey] = {}
        for path, node in leaves.items():
            key = (id(node), *sorted(edits.get(node.name, ())))
            written = node if node.name not in edits else _written_before(key, node)
            if written is None:
                unknown[path] = key
            else:
                known[path] = written
        data: Any = changed.data
        root = build_tree(changed, data["arch"]["nodes"], known)
        for node in root.walk():
            if node.path in unknown:
                _remember(unknown[node.path], _Edit(leaves[node.path], node))
        return root

    def __repr__(self) -> str:
        names = [node.name for node in self.leaves()]
        few = names if len(names) <= _FEW else [*names[: _FEW - 1], f"… ({len(names)})"]
        return f"<Arch: {', '.join(few)}>"

    def __str__(self) -> str:
        """Return the tree with its numbers, area and leakage; SpecError if a number is wrong."""
        from tilewright.arch.flattening.arch_facts import arch_facts, arch_text

        return arch_text(self, arch_facts(self))

    def _repr_html_(self) -> str:
        """Return a picture of the tree, and a table of its numbers, for a notebook."""
        from tilewright.arch.flattening.arch_facts import arch_html

        return arch_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return variables, area, leakage and components as plain data for JSON, in SI units.

        Raises SpecError, with the place, for a number that is wrong.
        """
        from tilewright.arch.flattening.arch_facts import arch_dict

        return arch_dict(self)

    def to_pandas(self) -> Any:
        """Return the components as a pandas DataFrame, in SI units; TilewrightError without it."""
        from tilewright.arch.frames import frame

        return frame(
            {**row, "actions": {action.pop("name"): action for action in row["actions"]}}
            for row in self.to_dict()["components"]
        )

    def with_estimators(self, *estimators: Estimator) -> Arch:
        """Return a copy whose missing costs come from these estimators, asked in order."""
        return replace(self, estimators=estimators)


def build_arch(document: Document, overrides: Mapping[str, object]) -> Arch:
    """Check the data of an architecture file and return the architecture.

    `overrides`: values for its variables. Raises SpecError, with the place, for what is wrong.
    """
    top = check_top_level(document, "arch", "architecture")
    if isinstance(top["arch"], Tagged):
        raise SpecError(
            f"arch must be a mapping, not a !{top['arch'].tag}", where=document.where(("arch",))
        )
    spec = parse(ArchSpec, document, ("arch",))
    root = build_tree(document, spec.nodes)
    values, places = _variables(document, top, spec, overrides)
    extra = spec.extra_attributes_for_all_component_models
    return Arch(root, values, extra, document, places, _cost_tables(document, spec))


def _cost_tables(document: Document, spec: ArchSpec) -> tuple[Estimator, ...]:
    """Read the files of `cost_tables:`, relative to the architecture file."""
    if not spec.cost_tables:
        return ()
    from tilewright.arch.components.cost_table import load_cost_table

    tables: list[Estimator] = []
    for index, entry in enumerate(spec.cost_tables):
        table = CostTableSpec(file=entry) if isinstance(entry, str) else entry
        where = document.where(("arch", "cost_tables", index))
        path = Path(where.file).parent / table.file
        tables.append(load_cost_table(path, table.section, where))
    return tuple(tables)


def _variables(
    document: Document, top: dict[str, object], spec: ArchSpec, overrides: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, Where]]:
    """Join the file's two blocks of variables; those of `arch` hide those of the top level.

    Return (values, places in the file), both by name. `overrides`: values that replace those of the
    file. SpecError if the block at the top level is no mapping.
    """
    values: dict[str, object] = {}
    places: dict[str, Where] = {}
    outer = top.get("variables")
    if outer is not None and not isinstance(outer, dict):
        raise SpecError(
            "variables must be a mapping (key: value)",
            where=document.where(("variables",)),
            value=outer,
        )
    for path, block in ((("variables",), outer or {}), (("arch", "variables"), spec.variables)):
        for name, value in block.items():
            values[name] = overrides.get(name, value)
            places[name] = document.where((*path, name))
    return values, places
