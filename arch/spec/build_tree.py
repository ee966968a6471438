"""Build and check the tree of nodes of an architecture file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import DocPath, Document, Tagged
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.check import check_fields
from tilewright.arch.spec.schema import parse
from tilewright.arch.spec.spec import BRANCHES, LEAVES, OLD_TAGS
from tilewright.arch.spec.tree import Node


def build_tree(
    document: Document, items: object, known: Mapping[DocPath, Node] | None = None
) -> Node:
    """Return the tree of the nodes of an architecture file; `items` is its list `nodes`.

    `known`: leaves by place that were read before, as they are written here. Raises SpecError, with
    the place, for a node that is wrong, a name used twice, or no Compute.
    """
    children = tuple(_nodes(document, ("arch", "nodes"), items, known or {}))
    root = Node("Hierarchical", BRANCHES["Hierarchical"](), ("arch",), children)
    _check_names(document, root)
    if not any(node.tag == "Compute" for node in root.walk()):
        raise SpecError(
            "the architecture has no Compute",
            where=document.where(("arch", "nodes")),
            instead="end the list of nodes with `- !Compute`",
        )
    return root


def _nodes(
    document: Document, path: DocPath, items: object, known: Mapping[DocPath, Node]
) -> Iterator[Node]:
    """Build the nodes of a list; lists inside it (from includes) are taken as part of it.

    SpecError if it is no list. `known`: nodes already built, by path; they are taken as they are.
    """
    if not isinstance(items, list):
        raise SpecError(
            "nodes must be a list",
            where=document.where(path),
            value=items,
            instead="write `- !Memory` and so on, one item per component",
        )
    for index, item in enumerate(items):
        item_path = (*path, index)
        if isinstance(item, list):
            yield from _nodes(document, item_path, item, known)
        elif item_path in known:
            yield known[item_path]
        else:
            yield _node(document, item_path, item, known)


def _node(document: Document, path: DocPath, item: object, known: Mapping[DocPath, Node]) -> Node:
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
    children = tuple(_nodes(document, (*path, "nodes"), getattr(spec, "nodes", ()), known))
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
