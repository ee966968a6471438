"""Every rule of the source documents has a test that cites it, or a decision with a reason."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    source = ROOT / "tools" / "source_documents_page.py"
    spec = importlib.util.spec_from_file_location("source_documents_page", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_of_this_state(tool: ModuleType) -> None:
    text = tool.PAGE.read_text(encoding="utf-8")
    assert text == tool.page(), "write it anew: python tools/source_documents_page.py"


def test_every_rule_has_a_test_or_a_decision(tool: ModuleType) -> None:
    tests = tool.tests_by_row()
    bare = [
        f"{row}: {sentence}"
        for document in tool.documents()
        for row, sentence in document.rows.items()
        if row not in tests and not document.decisions.get(row)
    ]
    assert not bare, "rules that lost their test:\n" + "\n".join(bare)


def test_cited_and_decided_rows_exist(tool: ModuleType) -> None:
    documents = tool.documents()
    known = {row for document in documents for row in document.rows}
    cited = set(tool.tests_by_row())
    decided = {row for document in documents for row in document.decisions}
    assert (cited | decided) - known == set()


def test_reasons_are_sentences(tool: ModuleType) -> None:
    short = [r for d in tool.documents() for r, why in d.decisions.items() if len(why.split()) < 6]
    assert short == []


def test_rows_of_decorators_are_read(tool: ModuleType) -> None:
    text = "@pytest.mark.row('1', '2')\n@pytest.mark.x(p(marks=pytest.mark.row('3')))\ndef f(): 0"
    function = ast.parse(text).body[0]
    assert list(tool.cited_rows(function)) == ["1", "2", "3"]
