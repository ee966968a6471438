"""docs/undefined.md: its messages are those of the code, and every error has a category."""

import re
from collections.abc import Iterator
from pathlib import Path

import tilewright.dse.run.rundir
import tilewright.dse.run.study_loop
import tilewright.mapper.searches.objective.objective_formula
import tilewright.simulator.isa.machine_errors  # noqa: F401 - the classes of errors
from tilewright.arch.errors import CATEGORIES, TilewrightError

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "undefined.md").read_text(encoding="utf-8")


def kinds(base: type[TilewrightError]) -> Iterator[type[TilewrightError]]:
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


def test_every_error_has_a_category_and_every_category_an_error() -> None:
    assert {kind.category for kind in kinds(TilewrightError)} == set(CATEGORIES)


def test_the_page_lists_the_categories() -> None:
    table = "".join(f"| {name} | {meaning} |\n" for name, meaning in CATEGORIES.items())
    assert table in PAGE


def test_the_messages_of_the_page_stand_in_the_code() -> None:
    """The last column of the first table quotes messages; line ends may split them."""
    section = PAGE.split("## Undefined in the documents")[1].split("## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    quoted = [text for row in rows for text in re.findall(r"`([^`]+)`", row.split("|")[3])]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "simulator").rglob("*.py"))
    joined = re.sub(r'"\s*\n?\s*f?"', "", code)
    assert len(rows) >= 12
    assert [text for text in quoted if text not in joined] == []
