"""The tutorials: every file, command and snippet does what the page says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from explore import at_night

ROOT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("tutorial_pages", ROOT / "tools/tutorial_pages.py")
tutorials = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = tutorials
SPEC.loader.exec_module(tutorials)
PAGES = {path.name: path.read_text(encoding="utf-8") for path in tutorials.PAGES.glob("*.md")}


def check(page: str, folder: Path, nightly: bool) -> None:
    for block, now in tutorials.answered(page, folder, nightly):
        pairs = zip(tutorials.parts_of(block.text), tutorials.parts_of(now), strict=True)
        for stored, new in pairs:
            assert tutorials.agrees(stored, new), (
                f"python tools/tutorial_pages.py writes\n{stored}\nanew as\n{new}"
            )


LONG = ("first-study.md", "slow-search.md")  # studies and searches of some seconds


@pytest.mark.parametrize("name", [*sorted(PAGES.keys() - LONG), *at_night(*LONG)])
def test_the_tutorial_does_what_it_says(name: str, tmp_path: Path) -> None:
    check(PAGES[name], tmp_path, nightly=False)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(n for n in PAGES if tutorials.NIGHTLY in PAGES[n]))
def test_its_slow_commands_do(name: str, tmp_path: Path) -> None:
    check(PAGES[name], tmp_path, nightly=True)


def test_nothing_in_a_tutorial_is_left_unrun() -> None:
    """Blocks run, but for the lines that install, which are those of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, page in PAGES.items():
        assert page.count("```") == 2 * len(tutorials.blocks(page)), f"{name}: a block is not seen"
        for block in tutorials.blocks(page):
            is_run = block.title or block.language in ("console", "python", "text")
            if not is_run:
                assert block.language == "sh", (name, block.text)
                lines = re.sub(r"#.*", "", block.text).split("\n")
                assert all(line in readme for line in lines), (name, block.text)
