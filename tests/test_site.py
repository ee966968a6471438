"""The site: its navigation holds pages that exist, links lead somewhere, and it can be built."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"(?<!!)\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


class Config(yaml.SafeLoader):
    """Reads mkdocs.yml, which may have tags of Python."""


def navigation(entries: list[dict[str, object]]) -> list[str]:
    """Return the pages of a navigation, in its order."""
    pages = []
    for entry in entries:
        for value in entry.values():
            pages += navigation(value) if isinstance(value, list) else [str(value)]
    return pages


def without_code(text: str) -> str:
    return re.sub(
        r"`[^`\n]+`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    )


def links(path: Path) -> list[str]:
    found = LINK.findall(without_code(path.read_text(encoding="utf-8")))
    return [link or image for link, image in found if "://" not in (link or image)]


def anchors(path: Path) -> set[str]:
    text = without_code(path.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", head.lower()).strip() for head in heads)
    return {re.sub(r"\s", "-", text) for text in words} | {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip()) for head in heads
    }


def test_every_page_of_the_navigation_exists_and_every_page_can_be_reached() -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Config)
    reached = [DOCS / name for name in navigation(config["nav"])]
    assert [path for path in reached if not path.is_file()] == []
    seen = set(reached)
    while reached:
        page = reached.pop()
        for link in links(page):
            target = (page.parent / link.partition("#")[0]).resolve()
            some = sorted(target.glob("*.md")) if target.is_dir() else [target]
            for one in some:
                if (
                    one.suffix == ".md"
                    and one.is_file()
                    and DOCS in one.parents
                    and one not in seen
                ):
                    seen.add(one)
                    reached.append(one)
    assert [path for path in PAGES if path not in seen] == []


@pytest.mark.parametrize("folder", ["tutorials", "."])
def test_links_lead_somewhere(folder: str) -> None:
    lost = []
    for page in sorted((DOCS / folder).glob("*.md")):
        for link in links(page):
            name, _, anchor = link.partition("#")
            target = page if not name else (page.parent / name)
            if not target.exists() or (anchor and target.suffix == ".md"
                                       and anchor not in anchors(target)):  # fmt: skip
                lost.append(f"{page.name}: {link}")
    assert lost == []


@pytest.mark.parametrize("folder", ["validation", "decisions"])
def test_an_index_lists_each_page_of_its_folder(folder: str) -> None:
    index = DOCS / folder / "README.md"
    pages = {path.name for path in (DOCS / folder).glob("*.md")} - {"README.md"}
    assert set(links(index)) == pages


def test_no_link_leads_to_a_folder() -> None:
    """The site has no listings of folders."""
    found = [f"{page}: {link}" for page in PAGES for link in links(page) if link.endswith("/")]
    assert found == []


BUILDERS = [name for name in ("mkdocs", "zensical") if importlib.util.find_spec(name) is not None]
"""Both read mkdocs.yml."""


@pytest.mark.skipif(not BUILDERS, reason="needs the extra docs")
def test_the_site_is_built_with_its_api_reference(tmp_path: Path) -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "site_dir: site\n" in config
    for place in ("docs", "_dev", "tools"):  # a build of its own: tests look at the tree meanwhile
        (tmp_path / place).symlink_to(ROOT / place)
    (tmp_path / "mkdocs.yml").write_text(config, encoding="utf-8")
    built = subprocess.run(
        [sys.executable, "-m", BUILDERS[0], "build", "-f", "mkdocs.yml"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert "rror" not in built.stderr
    page = (tmp_path / "site" / "api" / "mapper.html").read_text(encoding="utf-8")
    assert "Find the mapping with the least energy" in page
    page = (tmp_path / "site" / "api" / "dse.html").read_text(encoding="utf-8")
    for name in ("start_study", "RunTrials.where", "Trial", "mapping_page"):
        assert re.search(rf'id="tilewright\.dse\.[\w.]*{re.escape(name)}"', page), name
    assert (tmp_path / "site" / "tutorials" / "walk.html").is_file()
