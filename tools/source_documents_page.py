"""Write docs/validation/source-documents.md: the rules of the source documents and their tests.

The rules stand in tests/documents/0*.yaml; a test cites them by `@pytest.mark.row("000.17")`. Run
`python tools/source_documents_page.py` to write the page anew; a test compares them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "validation" / "source-documents.md"
HEAD = """# The source documents, rule by rule

Five public documents describe what Tilewright simulates and models. This page has a row per rule of
them, in our own words, with the tests that hold it, or with the decision to differ and its reason.

`tools/source_documents_page.py` writes the page from the rules in `tests/documents` and from the
tests: a test cites its rows by `@pytest.mark.row("000.17")`. `tests/test_source_documents.py` fails
if a rule has neither a test nor a decision.
"""


class SourceDocument(NamedTuple):
    """The rules of one document.

    `rows`: number of a rule -> its sentence; `decisions`: number -> why the product differs from
    it, or does not have it.
    """

    title: str
    source: str
    rows: dict[str, str]
    decisions: dict[str, str]


def documents() -> list[SourceDocument]:
    """Return all documents, in the order of their numbers."""
    texts = [
        yaml.safe_load(path.read_text("utf-8")) for path in sorted(TESTS.glob("documents/0*.yaml"))
    ]
    return [
        SourceDocument(text["title"], text["source"], text["rows"], text.get("decisions") or {})
        for text in texts
    ]


def cited_rows(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the rows that the decorators of a test cite."""
    for node in (node for decorator in function.decorator_list for node in ast.walk(decorator)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.row":
            yield from (ast.literal_eval(argument) for argument in node.args)


def tests_by_row() -> dict[str, list[str]]:
    """Return row -> tests that cite it, each as `path::name`, in the order of paths."""
    tests: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.row(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = f"{path.relative_to(ROOT).as_posix()}::{node.name}"
                for row in dict.fromkeys(cited_rows(node)):
                    tests.setdefault(row, []).append(name)
    return tests


def evidence(row: str, document: SourceDocument, tests: dict[str, list[str]]) -> str:
    """Return the last cell of a row: links to its tests, and the decision about it."""
    cells = []
    for test in tests.get(row, []):
        path, name = test.split("::")
        cells.append(f"[{name.removeprefix('test_')}](../../{path})")
    decision = document.decisions.get(row)
    if decision:
        cells.append(f"**Decision:** {decision}")
    return "<br>".join(cells).replace("|", "\\|")


def table(document: SourceDocument, tests: dict[str, list[str]]) -> str:
    """Return the section of a document."""
    lines = [f"## {document.title}", "", f"Source: <{document.source.split()[0]}>", ""]
    lines += ["| row | rule | test or decision |", "| --- | --- | --- |"]
    for row, sentence in document.rows.items():
        cell = sentence.replace("|", "\\|")
        lines.append(f"| {row} | {cell} | {evidence(row, document, tests)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the text of the page."""
    tests = tests_by_row()
    return "\n".join([HEAD, *(table(document, tests) for document in documents())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
