"""Stored answers of oracles: when they count, when not, and what they are worth."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import fused_mappings
import memo
import points
import pytest
import search_cases
import sources
import uneven_cases
import walked
from memo import Memo, key_of, read, text_of, update, write

from tilewright.mapper.fronts.mapspace_front import front_of_space
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.copies.copy_einsums import CopySearch
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.methods.partial_search import PartialSearch

ORACLES = {
    function.__name__: function
    for function in (
        fused_mappings.front_fused,
        fused_mappings.least_fused,
        fused_mappings.rows_fused,
        points.of_few_points,
        points.of_points,
        search_cases.of_brute_force,
        uneven_cases.of_all_loops,
        uneven_cases.of_points_of_few_loops,
        walked.of_the_walk,
    )
}
SEARCHES = (CopySearch, ExactSearch, PartialSearch, front_of_space, fused_search, search)


def test_every_stored_answer_is_of_a_known_oracle() -> None:
    assert {path.stem for path in memo.STORE.glob("*.json")} <= set(ORACLES)


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_knows_the_model_and_no_search(name: str) -> None:
    closure = sources.closure(Path(inspect.getfile(ORACLES[name])).resolve())
    model = {Path(file).name for file in closure if "model" in file.parts}
    assert len(model) > 10
    assert not closure & {Path(inspect.getfile(one)).resolve() for one in SEARCHES}
    assert Path(memo.__file__).resolve() not in closure


def test_comments_and_docstrings_mean_nothing(tmp_path: Path) -> None:
    texts = [
        '"""One."""\nA = 1\n\n\ndef f(x):\n    """Two."""\n    return x + A\n',
        "# three\nA = 1\ndef f( x ):\n    return (x + A)  # four\n",
        "A = 1\ndef f(x):\n    return x - A\n",
        "A = 1\ndef f(x):\n    'five'\n    return 'six'\n",
    ]
    digests = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.py"
        path.write_text(text, encoding="utf-8")
        digests.append(sources.digest(path))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_imports_are_followed(tmp_path: Path) -> None:
    """Lazy ones and names of modules in texts, too; those for type checkers are not."""
    path = tmp_path / "module.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import numpy\n"
        "from tilewright.mapper.mapping import score\n"
        "if TYPE_CHECKING:\n    from tilewright.arch import errors\n"
        "def f():\n    import walk\n    return 'tilewright.mapper.workload.einsum'\n",
        encoding="utf-8",
    )
    found = {file.relative_to(sources.ROOT) for file in sources.imported(path)}
    assert found >= {Path("mapper/mapping/score.py"), Path("tests/oracles/walk.py")}
    assert Path("mapper/workload/einsum.py") in found
    assert Path("arch/errors.py") not in found


def double(number: float) -> float | None:
    return None if number < 0 else 2 * number


def test_an_answer_is_computed_once_and_stored(tmp_path: Path) -> None:
    limit = 3

    def closure(number: float) -> bool:
        return number < limit

    first = Memo(store=tmp_path)
    with pytest.raises(TypeError, match="a case cannot hold"):
        first.answer(closure, (1.5,))  # what it reads beside its case is no part of the key
    assert first.answer(double, (1.5,)) == 3.0
    assert first.answer(double, (-1,)) is None
    assert (first.stored, first.computed) == (0, 2)
    update(first.used, prune=False, store=tmp_path)
    second = Memo(store=tmp_path)
    assert second.answer(double, (1.5,)) == 3.0
    assert second.answer(double, (-1,)) is None
    assert (second.stored, second.computed) == (2, 0)


def test_a_wrong_answer_is_found_by_computing_again(tmp_path: Path) -> None:
    write(tmp_path / "double.json", {key_of(double, (1.5,)): 2.5})
    assert Memo(store=tmp_path).answer(double, (1.5,)) == 2.5
    with pytest.raises(AssertionError, match=r"the stored answer \w+ is 2.5"):
        Memo(recompute=True, store=tmp_path).answer(double, (1.5,))


def test_what_nobody_asks_for_is_dropped_with_prune_only(tmp_path: Path) -> None:
    update({"double": {"a": 1}, "triple": {"b": [1.5, None]}}, prune=False, store=tmp_path)
    update({"double": {"c": 2}}, prune=False, store=tmp_path)
    assert read(tmp_path / "double.json") == {"a": 1, "c": 2}
    update({"double": {"c": 2}}, prune=True, store=tmp_path)
    assert read(tmp_path / "double.json") == {"c": 2}
    assert not (tmp_path / "triple.json").exists()


@dataclass(frozen=True)
class Item:
    names: frozenset[str]
    share: Fraction


def test_a_text_tells_cases_apart() -> None:
    one = Item(frozenset("abc"), Fraction(1, 3))
    assert text_of(one) == text_of(Item(frozenset("cba"), Fraction(1, 3)))
    different = [one, Item(frozenset("ab"), Fraction(1, 3)), Item(frozenset("abc"), Fraction(1, 2))]
    different += [1, 1.0, True, "1", None, (1, 2), (12,), ((1,), 2), {"a": 1}, {"a": 2}, double]
    assert len({text_of(value) for value in different}) == len(different)
    with pytest.raises(TypeError, match="a case cannot hold"):
        text_of(object())


def test_the_version_of_python_counts_for_functions() -> None:
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}" in text_of(double)
