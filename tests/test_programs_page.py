"""docs/programs.md: its programs run, its tables are current, no word of the text is missing."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest
from doc_pages import DOCS, blocks

from tilewright.simulator.descriptors.table import DESCRIPTOR_KINDS
from tilewright.simulator.instructions.dsd_operation import OPERATION_PROPERTIES
from tilewright.simulator.instructions.register_load import LOAD_PROPERTIES
from tilewright.simulator.instructions.table import kinds_by_word
from tilewright.simulator.program.routes import POP_MODES
from tilewright.simulator.text import parsing, parsing_code, route_text
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

PAGE = "programs.md"
TABLES = (
    parsing.TOP_LEVEL,
    *((kind.word, *kind.properties) for kind in DESCRIPTOR_KINDS),
    parsing_code.QUEUES,
    parsing_code.QUEUE_PROPERTIES,
    parsing_code.TASK_PROPERTIES,
    kinds_by_word(),
    OPERATION_PROPERTIES,
    LOAD_PROPERTIES,
    route_text.FILTER_PROPERTIES,
    route_text.EDGE_PROPERTIES,
    POP_MODES,
)
OTHERS = "buffer main_priority else of length stride sr terminate rx tx pos1 pos2 pos3 current ring"
WORDS = sorted({word for table in TABLES for word in table} | set(OTHERS.split()))


def tool() -> ModuleType:
    path = DOCS.parent / "tools" / "programs_page.py"
    spec = importlib.util.spec_from_file_location("programs_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_current(request: pytest.FixtureRequest) -> None:
    """Refresh: python tools/programs_page.py, or --update-golden."""
    writer = tool()
    if request.config.getoption("--update-golden"):
        writer.main()
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert writer.filled(text) == text


def test_the_python_of_the_page_runs() -> None:
    names: dict[str, object] = {}
    for code in blocks(PAGE, "python"):
        exec(compile(code, f"docs/{PAGE}", "exec"), names)


@pytest.mark.parametrize("text", blocks(PAGE, "text"))
def test_the_texts_of_the_page_hold(text: str) -> None:
    program = parse_program(text, PAGE)
    assert parse_program(print_program(program)) == program


def test_no_word_of_the_text_form_is_left_out() -> None:
    lines = "".join(blocks(PAGE, "text")).splitlines()
    shown = set(re.findall(r"\w+", "\n".join(re.sub(r"\s# .*", "", line) for line in lines)))
    assert [word for word in WORDS if word not in shown] == []
