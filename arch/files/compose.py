"""Turn YAML events into data: tags, anchors, merge keys, duplicate keys, and their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # re-exported by PyYAML

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import Document, Marks, Tagged, format_path, untag
from tilewright.arch.files.marks import Mark, SourceMap
from tilewright.arch.files.merge import Merger, is_merge_key
from tilewright.arch.files.scalars import Scalar, plain_scalar
from tilewright.arch.names import did_you_mean

MAX_DEPTH = 64
MAX_NODES = 400_000
INCLUDE_TAG = "!tilewright-include"

_CORE = "tag:yaml.org,2002:"
_CORE_TAGS = frozenset(
    _CORE + name for name in ("str", "int", "float", "bool", "null", "map", "seq")
)


def build_document(
    text: str, lines: SourceMap, included: Mapping[int, Document] | None = None
) -> Document:
    """Return the data of a YAML text, with the place of every piece of it.

    `text`: YAML, after its template was rendered; `lines`: where its lines come from; `included`:
    documents that it refers to by number. Raises SpecError with the place.
    """
    return Composer(lines, included or {}).build(text)


class Composer:
    """Reader of one YAML text into plain data with places.

    It uses a stack of its own, so that no depth of nesting can exhaust Python's.
    """

    def __init__(self, lines: SourceMap, included: Mapping[int, Document]) -> None:
        self.lines = lines
        self.included = included
        self.marks: Marks = {}
        self.anchors: dict[str, tuple[object, int]] = {}  # anchor -> value, nodes it stands for
        self.nodes = 0
        self.merger = Merger(self.marks)
        for document in included.values():
            self.marks.update(document.marks)

    def build(self, text: str) -> Document:
        """Return the data of the text with places.

        Raises SpecError, with the place, for bad YAML and for what is not allowed, such as a
        duplicate key.
        """
        try:
            parser = CParser(text)
            return self._document(parser)
        except yaml.MarkedYAMLError as error:
            raise self._yaml_error(error) from None
        except yaml.YAMLError as error:  # e.g. characters that YAML does not allow
            position = getattr(error, "position", None)
            line = text.count("\n", 0, position) if isinstance(position, int) else 0
            reason = str(getattr(error, "reason", "")) or str(error).splitlines()[0]
            raise SpecError(
                f"this is not YAML: {reason}", where=self.lines.where(line, 0)
            ) from None

    def _document(self, parser: Any) -> Document:
        parser.get_event()  # stream start
        if isinstance(parser.get_event(), yaml.StreamEndEvent):
            return Document(self.lines.file, None, Mark(self.lines, 0, 0), self.marks)
        first = parser.get_event()
        root = self._mark(first)
        value = self._tree(parser, first)
        parser.get_event()  # document end
        following = parser.get_event()
        if not isinstance(following, yaml.StreamEndEvent):
            raise SpecError(
                "the file holds more than one YAML document",
                where=self._mark(following).where(),
                instead="keep one document per file (one `---` at most)",
            )
        return Document(self.lines.file, value, root, self.marks)

    def _tree(self, parser: Any, event: Any) -> object:
        """Build the value that starts with `event`, iteratively.

        SpecError if it is nested too deep.
        """
        stack: list[_Open] = []
        while True:
            value: object
            if isinstance(event, yaml.CollectionStartEvent):
                self._count(1, event)
                if len(stack) >= MAX_DEPTH:
                    raise _too_deep(self._mark(event).where())
                stack.append(self._open(event))
                event = parser.get_event()
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                opened = stack.pop()
                value, mark = self._close(opened), opened.mark
            else:
                value, mark = self._leaf(event, stack), self._mark(event)
            if not stack:
                return value
            self._put(stack[-1], value, mark)
            event = parser.get_event()

    def _open(self, event: Any) -> _Open:
        value: dict[str, object] | list[object]
        value = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.marks[id(value)] = {}
        opened = _Open(value, self._mark(event), event.tag, event.anchor, self.nodes)
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        return opened

    def _close(self, opened: _Open) -> object:
        value: object = opened.value
        if opened.merges:
            assert isinstance(opened.value, dict)
            for key, merged, mark in opened.merges:
                self.merger.merge(opened.value, merged, key, mark)
        tag = self._tag(opened.tag, opened.mark)
        if tag is not None:
            value = Tagged(tag, value)
        if opened.anchor is not None:
            self.anchors[opened.anchor] = (value, self.nodes - opened.first_node + 1)
        return value

    def _leaf(self, event: Any, stack: list[_Open]) -> object:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, stack)
        self._count(1, event)
        value = self._scalar(event, is_key=bool(stack) and stack[-1].wants_key)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, 1)
        return value

    def _alias(self, event: Any, stack: list[_Open]) -> object:
        if event.anchor not in self.anchors:
            refers_to_itself = any(opened.anchor == event.anchor for opened in stack)
            raise SpecError(
                f"the alias *{event.anchor} "
                + (
                    "stands inside its own value" if refers_to_itself else "has no anchor before it"
                ),
                where=self._mark(event).where(),
                instead=did_you_mean(event.anchor, self.anchors) or f"write &{event.anchor} first",
            )
        value, size = self.anchors[event.anchor]
        self._count(size, event)
        return value

    def _scalar(self, event: Any, *, is_key: bool) -> object:
        text: str = event.value
        if event.tag == INCLUDE_TAG:
            return self._include(text, event)
        plain = event.implicit[0]
        if event.tag in (None, "!") or event.tag in _CORE_TAGS:
            quoted = event.tag in ("!", _CORE + "str") or (event.tag is None and not plain)
            return text if is_key or quoted else self._plain(text, event)
        tag = self._tag(event.tag, self._mark(event))
        assert tag is not None
        return Tagged(
            tag, text if event.style in ("'", '"', "|", ">") else self._plain(text, event)
        )

    def _plain(self, text: str, event: Any) -> Scalar:
        try:
            return plain_scalar(text)
        except ValueError as error:
            raise SpecError(str(error), where=self._mark(event).where(), value=text) from None

    def _include(self, text: str, event: Any) -> object:
        """Resolve `<number>.<key>.<key>`, the text that a template's include() stands for.

        SpecError if no included file has that number, or the file lacks a key.
        """
        number, *words = text.split(".")
        keys = [word for word in words if word]
        document = self._included_document(number, event)
        value: object = document.data
        for place, key in enumerate(keys):
            inner = untag(value)
            if not isinstance(inner, dict) or key not in inner:
                inner_keys = list(inner) if isinstance(inner, dict) else []
                raise SpecError(
                    f"{document.file} has no {format_path(keys[: place + 1])}",
                    where=self._mark(event).where(),
                    instead=did_you_mean(key, inner_keys) or None,
                )
            value = inner[key]
        self._count(_size(value), event)
        return value

    def _included_document(self, number: str, event: Any) -> Document:
        """Return the included file of a number; SpecError if there is none."""
        if number.isdigit() and int(number) in self.included:
            return self.included[int(number)]
        first, *behind = number.split() or [""]
        if behind and first.isdigit() and int(first) in self.included:
            raise SpecError(
                "text follows include(), as a part of its value",
                where=self._mark(event).where(),
                value=" ".join(behind),
                instead="include() alone in its place; the next line is not indented below it",
            )
        raise SpecError(
            "this tag is kept for include()",
            where=self._mark(event).where(),
            instead='write {{include("file.yaml", "key")}}',
        )

    def _put(self, parent: _Open, value: object, mark: Mark) -> None:
        if isinstance(parent.value, list):
            self.marks[id(parent.value)][len(parent.value)] = (mark, mark)
            parent.value.append(value)
            return
        if parent.wants_key:
            parent.key, parent.key_mark = self._key(value, mark), mark
            return
        key, parent.key = parent.key, None
        assert key is not None
        assert parent.key_mark is not None
        if is_merge_key(key):
            parent.merges.append((key, value, parent.key_mark))
            return
        places = self.marks[id(parent.value)]
        if key in parent.value:
            first = places[key][0].where()
            raise SpecError(
                f"the key {key} is written twice (first in line {first.line})",
                where=parent.key_mark.where(key),
                instead="remove one of the two",
            )
        parent.value[key] = value
        places[key] = (parent.key_mark, mark)

    def _key(self, value: object, mark: Mark) -> str:
        if isinstance(value, str):
            return value
        raise SpecError(
            "a key must be plain text",
            where=mark.where(),
            value=value,
            instead="write `key: value`; quote the key if it starts with [ { * & or !",
        )

    def _tag(self, tag: str | None, mark: Mark) -> str | None:
        if tag is None or tag == "!" or tag in _CORE_TAGS:
            return None
        if tag.startswith("!"):
            return tag[1:]
        raise SpecError(
            "this YAML tag is not allowed",
            where=mark.where(),
            value=tag.replace(_CORE, "!!"),
            instead="use the tags of the file's own format, such as !Memory",
        )

    def _count(self, nodes: int, event: Any) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise SpecError(
                f"the file stands for more than {MAX_NODES} values once its aliases and includes "
                "are written out",
                where=self._mark(event).where(),
                instead="remove aliases of aliases",
            )

    def _mark(self, event: Any) -> Mark:
        mark = event.start_mark
        return Mark(self.lines, mark.line, mark.column)

    def _yaml_error(self, error: yaml.MarkedYAMLError) -> SpecError:
        mark = error.problem_mark or error.context_mark
        where = self.lines.where(mark.line, mark.column) if mark else self.lines.where(0, 0)
        if "maximum nesting depth" in str(error.problem):  # a limit of libyaml itself, met first
            return _too_deep(where)
        context = f" {error.context}" if error.context else ""
        return SpecError(f"this is not YAML: {error.problem}{context}", where=where)


def _too_deep(where: Where) -> SpecError:
    return SpecError(
        f"values nest deeper than {MAX_DEPTH} levels", where=where, instead="flatten the structure"
    )


class _Open:
    """A mapping or list whose end has not been read yet."""

    __slots__ = ("anchor", "first_node", "key", "key_mark", "mark", "merges", "tag", "value")

    def __init__(
        self,
        value: dict[str, object] | list[object],
        mark: Mark,
        tag: str | None,
        anchor: str | None,
        first_node: int,
    ) -> None:
        self.value = value
        self.mark = mark
        self.tag = tag
        self.anchor = anchor
        self.first_node = first_node
        self.key: str | None = None
        self.key_mark: Mark | None = None
        self.merges: list[tuple[str, object, Mark]] = []

    @property
    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


def _size(value: object) -> int:
    """Return the number of values that `value` stands for, aliases counted each time.

    Counting ends above MAX_NODES.
    """
    total, queue = 0, [value]
    while queue:
        item = untag(queue.pop())
        total += 1
        if total > MAX_NODES:
            return total
        if isinstance(item, dict):
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
    return total
