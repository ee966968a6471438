"""Read an architecture file into a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath, Document, Tagged
from tilewright.arch.files.source import load_document
from tilewright.arch.files.toplevel import check_top_level
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.check import check_fields
from tilewright.arch.spec.schema import parse
from tilewright.arch.spec.spec import BRANCHES, LEAVES, OLD_TAGS, ArchSpec, CostTableSpec
from tilewright.arch.spec.tree import Arch, Node

if TYPE_CHECKING:
    from tilewright.arch.components.estimate import Estimator


def load_arch(
    source: Path | str | Document, *, variables: Mapping[str, object] | None = None
) -> Arch:
    """Read an architecture from a YAML file (or text, or a document already read).

    `variables` feed the template and replace the file's variables of the same names. SpecError
    for whatever the file gets wrong, with file, line and column.
    """
    given = variables or {}
    document = source if isinstance(source, Document) else load_document(source, variables=given)
    return build_arch(document, given)


def build_arch(document: Document, given: Mapping[str, object]) -> Arch:
    """Check a document and build the tree."""
    top = check_top_level(document, "arch", "architecture")
    if isinstance(top["arch"], Tagged):
        raise SpecError(
            f"arch must be a mapping, not a !{top['arch'].tag}", where=document.where(("arch",))
        )
    spec = parse(ArchSpec, document, ("arch",))
    children = tuple(_nodes(document, ("arch", "nodes"), spec.nodes))
    root = Node("Hierarchical", BRANCHES["Hierarchical"](), ("arch",), children)
    _check_names(document, root)
    if not any(node.tag == "Compute" for node in root.walk()):
        raise SpecError(
            "the architecture has no Compute",
            where=document.where(("arch", "nodes")),
            instead="end the list of nodes with `- !Compute`",
        )
    values, places = _variables(document, top, spec, given)
    extra = spec.extra_attributes_for_all_component_models
    return Arch(root, values, extra, document, places, _cost_tables(document, spec))


def _cost_tables(document: Document, spec: ArchSpec) -> tuple[Estimator, ...]:
    """Read the files of `cost_tables:`, relative to the architecture file."""
    from tilewright.arch.components.estimate import load_cost_table

    tables: list[Estimator] = []
    for index, entry in enumerate(spec.cost_tables):
        table = CostTableSpec(file=entry) if isinstance(entry, str) else entry
        where = document.where(("arch", "cost_tables", index))
        path = Path(where.file).parent / table.file
        tables.append(load_cost_table(path, table.section, where))
    return tuple(tables)


def _nodes(document: Document, path: DocPath, items: object) -> Iterator[Node]:
    """Build the nodes of a list; lists inside it (from includes) are taken as part of it."""
    if not isinstance(items, list):
        raise SpecError(
            "nodes must be a list",
            where=document.where(path),
            value=items,
            instead="write `- !Memory` and so on, one item per component",
        )
    for index, item in enumerate(items):
        here = (*path, index)
        if isinstance(item, list):
            yield from _nodes(document, here, item)
        else:
            yield _node(document, here, item)


def _node(document: Document, path: DocPath, item: object) -> Node:
    kinds = [*LEAVES, *BRANCHES]
    if not isinstance(item, Tagged):
        raise SpecError(
            "a node must say what it is",
            where=document.where(path),
            instead="start it with one of " + ", ".join(f"!{kind}" for kind in kinds),
        )
    tag = OLD_TAGS.get(item.tag, item.tag)
    model = LEAVES.get(tag) or BRANCHES.get(tag)
    if model is None:
        raise SpecError(
            f"unknown kind of node !{item.tag}",
            where=document.where(path),
            instead=did_you_mean(item.tag, kinds) or None,
        )
    spec = parse(model, document, path, data={} if item.value is None else item.value)
    if tag in LEAVES:
        leaf = Node(tag, spec, path)
        check_fields(document, leaf)
        return leaf
    children = tuple(_nodes(document, (*path, "nodes"), getattr(spec, "nodes", ())))
    node = Node(tag, spec.model_copy(update={"nodes": None}), path, children)
    _check_branch(document, node)
    check_fields(document, node)
    return node


def _check_branch(document: Document, node: Node) -> None:
    if node.tag == "Fork" and not any(inner.tag == "Compute" for inner in node.walk()):
        raise SpecError(
            "a Fork without a Compute leads nowhere",
            where=document.where(node.path),
            instead="end its nodes with `- !Compute`, or use !Hierarchical",
        )
    if node.tag != "Array":
        return
    for child in node.children:
        if not child.is_leaf:
            raise SpecError(
                f"an Array holds components only, not a {child.tag}",
                where=document.where(child.path),
                instead="put the branch behind the Array",
            )


def _check_names(document: Document, root: Node) -> None:
    seen: dict[str, Node] = {}
    for node in root.walk():
        if not node.name:
            continue
        if node.name in seen:
            first = document.where((*seen[node.name].path, "name"))
            raise SpecError(
                f"two nodes are called {node.name} (the first in line {first.line})",
                where=document.where((*node.path, "name")),
                instead="give each node a name of its own",
            )
        if "." in node.name or node.name == "variables":
            raise SpecError(
                "a node cannot have this name",
                where=document.where((*node.path, "name")),
                value=node.name,
                instead="use letters, digits and _",
            )
        seen[node.name] = node


def _variables(
    document: Document, top: dict[str, object], spec: ArchSpec, given: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, Where]]:
    """Join the file's two blocks of variables; those of `arch` hide those of the top level."""
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
            values[name] = given.get(name, value)
            places[name] = document.where((*path, name))
    return values, places
