"""Every document and section that the repository cites exists; so do cited modules and names.

A citation is `name.md`, or `name.md §2, §3.1 and §4`, or a link `[text](name.md) §2`. Sections are
numbered headings (`## 3. Title`, `### 3.1 Title`).
"""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXTS = (".py", ".md", ".j2", ".yaml")
MARGIN = re.compile(r"\n[ \t]*(?:#(?!#)[ \t]?)?")  # a line break in a sentence, also of a comment
SECTIONS = r"(?P<sections>(?:,?\s(?:and\s)?§\d+(?:\.\d+)*)*)"
LINK = re.compile(r"\[[^]\n]*\]\((?P<path>[\w./-]+\.md)\)" + SECTIONS)
NAME = re.compile(  # neither `page.md.j2` nor `{slug}.md`
    r"(?<![\w/.}-])(?P<path>(?:[\w.-]+/)*[\w-]+\.md)(?![\w-]|\.\w)[)`\"']*" + SECTIONS
)
PLACEHOLDER = "NNNN"
SECTION = re.compile(r"§(\d+(?:\.\d+)*)")
HEADING = re.compile(r"^#{2,4} (\d+(?:\.\d+)*)\.? \S", re.MULTILINE)
CODE_PATH = re.compile(
    r"`((?:arch|mapper|simulator|dse|studies|tests|tools|benchmarks|docs)/[\w./-]+)(?:::(\w+))?`"
)
WITH_NAMES = re.compile(
    r"`([\w/]+\.py)`\s\(([^)]*)\)"
)  # a module (`name`, `Type.name`: what it does)
CODE_NAME = re.compile(r"`([\w.]+)`")


@cache
def tracked() -> tuple[str, ...]:
    """Paths of the repository's files; new ones that git does not ignore too."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    return tuple(path for path in done.stdout.split("\0") if path and (ROOT / path).is_file())


@cache
def sections(document: str) -> frozenset[str]:
    return frozenset(HEADING.findall((ROOT / document).read_text(encoding="utf-8")))


@cache
def words(module: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", (ROOT / module).read_text(encoding="utf-8")))


def meant(cited: str, source: str) -> list[str]:
    """Return the documents that a path written in `source` may mean.

    Relative to the source's folder or to the root it means one; else any path that ends with it.
    Links that a program writes into a page are relative to the page.
    """
    if not source.endswith(".md"):
        cited = cited.removeprefix("../")
    for base in ((ROOT / source).parent, ROOT):
        path = (base / cited).resolve()
        if path.is_file():
            return [path.relative_to(ROOT).as_posix()]
    return [path for path in tracked() if f"/{path}".endswith(f"/{cited}")]


def citations(text: str) -> list[tuple[str, list[str]]]:
    """Return (path, sections) of every citation in a text."""
    sentence = MARGIN.sub(" ", text)
    links = LINK.finditer(sentence)
    names = NAME.finditer(LINK.sub(" ", sentence))
    return [
        (match["path"], SECTION.findall(match["sections"]))
        for match in (*links, *names)
        if PLACEHOLDER not in match["path"]
    ]


def faults(source: str, text: str) -> list[str]:
    """Return what is wrong with the citations of one file."""
    wrong = []
    for cited, numbers in citations(text):
        documents = meant(cited, source)
        if len(documents) != 1:
            wrong.append(f"{source}: {cited} means {documents or 'no document'}")
            continue
        wrong += [
            f"{source}: {documents[0]} has no section {number}"
            for number in numbers
            if number not in sections(documents[0])
        ]
    return wrong


def test_cited_documents_and_sections_exist() -> None:
    wrong = [
        fault
        for source in tracked()
        if source.endswith(TEXTS) and source != "tests/test_citations.py"
        for fault in faults(source, (ROOT / source).read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_faults_are_found() -> None:
    """The rules on texts of which the answer is known."""
    source = "docs/search.md"
    assert faults(source, "see model.md §1, §3.1 and §4.2") == []
    assert faults(source, "# by model.md\n    # §3.1: so") == []
    assert faults(source, "[the model](theory/model.md) §3.1, [the page](uneven.md)") == []
    for text in ("model.md §1, §99", "(model.md\n§99)", "[model](theory/model.md) §99"):
        assert faults(source, text) == ["docs/search.md: docs/theory/model.md has no section 99"]
    assert faults(source, "lattice-dp.md §1") == ["docs/search.md: lattice-dp.md means no document"]
    assert faults(source, "[lattice-dp.md](lattice-dp.md)") == [
        "docs/search.md: lattice-dp.md means no document"
    ]


def test_one_name_for_two_documents_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "tracked", lambda: ("a/of/times.md", "b/times.md"))
    assert meant("of/times.md", "docs/search.md") == ["a/of/times.md"]
    assert faults("docs/search.md", "see times.md §1") == [
        "docs/search.md: times.md means ['a/of/times.md', 'b/times.md']"
    ]


def guides() -> list[Path]:
    """Return the documents that name modules: theory, guides and tutorials; not what is history."""
    docs = ROOT / "docs"
    pages = [
        page
        for folder in (docs, docs / "theory", docs / "tutorials")
        for page in folder.glob("*.md")
    ]
    return sorted([*pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def test_guides_name_modules_and_tests_that_exist() -> None:
    wrong = []
    for document in guides():
        for path, function in CODE_PATH.findall(document.read_text(encoding="utf-8")):
            target = ROOT / path
            is_decision = any(target.parent.glob(f"{target.name}-*.md"))  # cited by its number
            if not (target.exists() or is_decision or PLACEHOLDER in path):
                wrong.append(f"{document.name}: no {path}")
            elif function and f"def {function}(" not in target.read_text(encoding="utf-8"):
                wrong.append(f"{document.name}: no {function} in {path}")
    assert not wrong, "\n".join(wrong)


def test_names_beside_a_module_stand_in_it() -> None:
    wrong = [
        f"{document.name}: no {name} in {path}"
        for document in guides()
        for path, remark in WITH_NAMES.findall(document.read_text(encoding="utf-8"))
        for name in CODE_NAME.findall(remark)
        if not set(name.split(".")) <= words(path)
    ]
    assert not wrong, "\n".join(wrong)
