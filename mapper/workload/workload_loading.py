"""Load a workload file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.arch.files.document import Document
from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_build import build_workload


def load_workload(
    source: Path | str | Document, *, variables: Mapping[str, object] | None = None
) -> Workload:
    """Read a workload from a YAML file, from text, or from a document already read.

    `variables`: values for the names in the file's template. Raises SpecError (WorkloadError for
    contradictions) for whatever the file gets wrong, with file, line and column; where two places
    of the workload disagree, the message names both.
    """
    document = (
        source if isinstance(source, Document) else load_document(source, variables=variables or {})
    )
    return build_workload(document, variables or {})
