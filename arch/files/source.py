"""Files to plain data: YAML with the place of every value, within limits.

`load_document` reads YAML through libyaml's event stream. Every mapping and list remembers where
its keys and values stand, so that each later complaint can name file, line and column. Nothing in
a file can make it grow without bound: size, depth, and the nodes that aliases stand for are
limited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tilewright.arch.files.document import Document
from tilewright.arch.files.marks import SourceMap
from tilewright.arch.files.reading import MAX_BYTES, read_text, too_large

_TEMPLATE_SIGNS = ("{%", "{{", "{#")


def load_document(
    source: Path | str, *, variables: Mapping[str, object] | None = None, text: str | None = None
) -> Document:
    """Read a YAML file, or the text of one, into plain data with the place of every piece.

    `source` is a path; a string with a line break in it is taken as YAML text itself. With `text`
    given, `source` only names it (and its folder is where includes start). `variables` feed the
    Jinja template, if the text is one. Raises SpecError: missing or unreadable file, bad YAML, a
    duplicate key, a file over the limits, a failing template.
    """
    if text is None and isinstance(source, str) and "\n" in source:
        source, text = "<text>", source
    name = str(source)
    if text is None:
        text = read_text(Path(source))
    elif len(text) > MAX_BYTES:
        raise too_large(name)
    if any(sign in text for sign in _TEMPLATE_SIGNS):
        from tilewright.arch.files.templates_and_includes import load_template

        return load_template(name, text, variables or {})
    from tilewright.arch.files.compose import build_document  # PyYAML loads with the first file

    return replace(build_document(text, SourceMap(name)), files=(name,))
