"""The mapping file (theory/inputs.md §4): read and write."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from pathlib import Path
from typing import Annotated, Any, Final, cast

from pydantic import AfterValidator, Field

from tilewright.arch.errors import Where
from tilewright.arch.files.document import DocPath, Document, Tagged
from tilewright.arch.files.source import load_document
from tilewright.arch.files.toplevel import check_top_level
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.schema import SpecModel, no_entries, parse
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError


def _check_scheme(text: str) -> str:
    if text:
        try:
            reduction_scheme(text)
        except InfeasibleMapping as error:
            raise ValueError(error.what, error.instead) from None
    return text


class _StorageSpec(SpecModel):
    tensors: tuple[str, ...] = Field(min_length=1)
    component: str
    persistent: bool = False
    buffers: int = Field(default=1, ge=1)
    reduction: Annotated[str, AfterValidator(_check_scheme)] = ""
    shift: str = ""
    binding: Any = None  # refused unless empty


class _TemporalSpec(SpecModel):
    rank_variable: str
    tile_shape: int = Field(ge=1)
    initial_tile_shape: int | None = Field(default=None, ge=1)
    names: dict[str, str] = Field(default_factory=no_entries)


class _SpatialNodeSpec(SpecModel):
    rank_variable: str
    tile_shape: int = Field(ge=1)
    name: str
    component: str
    names: dict[str, str] = Field(default_factory=no_entries)


class _ComputeNodeSpec(SpecModel):
    einsum: str
    component: str


class _NodeSpecs(SpecModel):
    nodes: tuple[Any, ...] = Field(min_length=1)


_TAG_OF: Final[MappingOf[type[Node], str]] = {
    Storage: "Storage",
    TollNode: "Toll",
    Temporal: "Temporal",
    Spatial: "Spatial",
    ComputeNode: "Compute",
}
_SPLITS = ("Sequential", "Pipeline", "Split")  # a Pipeline counts as sequential (inputs.md §4)
_IGNORED = ("Reservation", "TextBox")  # the model finds reservations itself
_TAGS = (*_TAG_OF.values(), *_SPLITS, "Nested", *_IGNORED)


def load_mapping(
    source: Path | str | Document, *, variables: MappingOf[str, object] | None = None
) -> Mapping:
    """Read a mapping from a YAML file, from text, or from a document already read.

    `variables`: values for the names in the file's template. Raises SpecError (MappingError for a
    wrong node) for whatever the file gets wrong, with file, line and column.
    """
    document = (
        source if isinstance(source, Document) else load_document(source, variables=variables or {})
    )
    check_top_level(document, "mapping", "mapping")
    spec = parse(_NodeSpecs, document, ("mapping",))
    places: list[Where] = []
    nodes = _list(document, ("mapping", "nodes"), spec.nodes, places)
    return Mapping(nodes, tuple(places))


def _list(
    document: Document, path: DocPath, items: tuple[Any, ...], places: list[Where]
) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for number, item in enumerate(items):
        place = (*path, number)
        tag = _tag(document, place, item)
        if tag == "Nested":
            spec = parse(_NodeSpecs, document, place)
            nodes += _list(document, (*place, "nodes"), spec.nodes, places)
        elif tag not in _IGNORED:
            nodes.append(_node(document, place, tag, places))
    _check_end(document, path, nodes)
    return tuple(nodes)


def _check_end(document: Document, path: DocPath, nodes: list[Node]) -> None:
    """Raise MappingError unless the last node of a list, and no other, ends it.

    It must be a Compute or a Sequential.
    """
    ends = [isinstance(node, ComputeNode | Sequential) for node in nodes]
    if ends.count(True) == 1 and ends[-1]:
        return
    raise MappingError(
        "a list of nodes has one Compute or Sequential, at its end",
        where=document.where(path),
        instead="end it with `- !Compute {einsum: …, component: …}`",
    )


def _tag(document: Document, place: DocPath, item: Any) -> str:
    if isinstance(item, Tagged) and item.tag in _TAGS:
        return item.tag
    written_tag = item.tag if isinstance(item, Tagged) else None
    raise MappingError(
        "a node of a mapping carries a tag"
        if written_tag is None
        else f"no node of a mapping is called !{written_tag}",
        where=document.where(place),
        instead="one of: " + ", ".join(f"!{tag}" for tag in _TAGS)
        if written_tag is None
        else did_you_mean(written_tag, _TAGS),
    )


def _node(document: Document, place: DocPath, tag: str, places: list[Where]) -> Node:
    places.append(document.where(place))
    if tag in ("Storage", "Toll"):
        storage = parse(_StorageSpec, document, place)
        _refuse_binding(storage.binding, document.where((*place, "binding")))
        kind = TollNode if tag == "Toll" else Storage
        return kind(
            storage.tensors,
            storage.component,
            storage.persistent,
            storage.buffers,
            storage.reduction,
            storage.shift,
        )
    if tag == "Temporal":
        loop = parse(_TemporalSpec, document, place)
        names = tuple(loop.names.items())
        return Temporal(loop.rank_variable, loop.tile_shape, loop.initial_tile_shape, names)
    if tag == "Spatial":
        lanes = parse(_SpatialNodeSpec, document, place)
        names = tuple(lanes.names.items())
        return Spatial(lanes.rank_variable, lanes.tile_shape, lanes.name, lanes.component, names)
    if tag == "Compute":
        leaf = parse(_ComputeNodeSpec, document, place)
        return ComputeNode(leaf.einsum, leaf.component)
    spec = parse(_NodeSpecs, document, place)
    branches = []
    for number, item in enumerate(spec.nodes):
        inner = (*place, "nodes", number)
        if _tag(document, inner, item) == "Nested":
            nested = parse(_NodeSpecs, document, inner)
            branches.append(_list(document, (*inner, "nodes"), nested.nodes, places))
        else:  # a branch of one node needs no Nested around it
            branches.append((_node(document, inner, item.tag, places),))
    return Sequential(tuple(branches), cast(Any, tag))


def _refuse_binding(binding: object, where: Where) -> None:
    """Raise MappingError for a choice of places of a distributed memory.

    The model takes the nearest place.
    """
    if binding not in (None, [], (), {}):
        raise MappingError(
            "binding of a tensor to places of a distributed memory is not supported",
            where=where,
            value=binding,
            instead="leave it out: each instance is served by the nearest place of the memory",
        )


def dump_mapping(mapping: Mapping) -> str:
    """Return a mapping as YAML text that `load_mapping` reads back to an equal mapping."""
    lines = ["mapping:", "  nodes:"]
    _write(mapping.nodes, "  ", lines)
    return "\n".join(lines) + "\n"


def _write(nodes: tuple[Node, ...], indent: str, lines: list[str]) -> None:
    for node in nodes:
        if isinstance(node, Sequential):
            lines += [f"{indent}- !{node.kind}", f"{indent}  nodes:"]
            for branch in node.branches:
                lines += [f"{indent}  - !Nested", f"{indent}    nodes:"]
                _write(branch, indent + "    ", lines)
        else:
            fields = ", ".join(f"{key}: {_scalar(value)}" for key, value in _fields(node))
            lines.append(f"{indent}- !{_TAG_OF[type(node)]} {{{fields}}}")


def _fields(node: Node) -> list[tuple[str, object]]:
    fields = [(name, getattr(node, name)) for name in node.__dataclass_fields__]
    written = [
        (name, value)
        for name, value in fields
        if value not in (None, False, (), "") and (name, value) != ("buffers", 1)
    ]
    return [(name, dict(value) if name == "names" else value) for name, value in written]


def _scalar(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(k)}: {_scalar(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalar(item) for item in value) + "]"
    if value is True:
        return "true"
    if isinstance(value, str):
        import json

        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    return str(value)


_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}


def _is_plain(text: str) -> bool:
    """Tell whether YAML of any version reads a name back as the same text without quotes."""
    return text.isidentifier() and text.isascii() and text.lower() not in _WORDS
