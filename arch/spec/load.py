"""Read an architecture file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.arch.files.document import Document
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.architecture import Arch, build_arch


def load_arch(
    source: Path | str | Document, *, variables: Mapping[str, object] | None = None
) -> Arch:
    """Read and check an architecture from a YAML file (or text, or a document already read).

    `variables` feed the template and replace the file's variables of the same names. Raises
    SpecError, with file, line and column, for whatever the file gets wrong.
    """
    overrides = variables or {}
    document = (
        source if isinstance(source, Document) else load_document(source, variables=overrides)
    )
    return build_arch(document, overrides)
