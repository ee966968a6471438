"""docs/programs.md: its programs run, its tables are current, no word of the text is missing."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest
from doc_pages import DOCS, blocks

from tilewright.simulator.program.routes import POP_MODES
from tilewright.simulator.text import parsing, parsing_body, parsing_code, parsing_routes
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

PAGE = "programs.md"
TABLES = (
    parsing.TOP_LEVEL,
    parsing_code.DSDS,
    parsing_code.MEM1D,
    parsing_code.MEM4D,
    parsing_code.CIRCBUF,
    parsing_code.FIFO,
    parsing_code.FABIN,
    parsing_code.FABOUT,
    parsing_code.QUEUES,
    parsing_code.QUEUE,
    parsing_code.TASK,
    parsing_body.NESTED,
    parsing_body.SINGLE,
    parsing_body.OPERATION,
    parsing_body.LOAD,
    parsing_routes.FILTER,
    parsing_routes.EDGE,
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
