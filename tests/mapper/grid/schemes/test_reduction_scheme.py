"""Texts of reductions, snakes, and the choices of a search."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.grid.reductions import line_chains
from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS
from tilewright.mapper.grid.schemes.reduction_scheme import ReductionScheme, reduction_scheme
from tilewright.mapper.grid.schemes.scheme_choices import MOST_WINDING, schemes_of
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.workload.errors import InfeasibleMapping

TEXTS = ("chain", "tree", "two_phase", "two_phase(4)", "auto", "auto(21,5,1)", "y_first(tree)",
         "auto(1048581,5,1)",
         "y_first(auto(21,5,1))", "snake")  # fmt: skip


@pytest.mark.parametrize("text", [*TEXTS, *(f"all_reduce({text})" for text in TEXTS)])
def test_a_text_is_read_and_written(text: str) -> None:
    scheme = reduction_scheme(text)
    assert str(scheme) == text
    assert scheme.shared == text.startswith("all_reduce")


@pytest.mark.parametrize(
    "text", ["", "ring", "chain(2)", "two_phase(0)", "auto(1,2)", "auto(0,1,1)", "y_first(snake)",
             "y_first(all_reduce(chain))", "all_reduce(all_reduce(chain))", "x_first(chain)"]
)  # fmt: skip
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(InfeasibleMapping, match="there is no reduction") as refused:
        reduction_scheme(text)
    assert "y_first" in refused.value.instead


def test_auto_without_numbers_is_made_for_the_published_costs() -> None:
    assert reduction_scheme("all_reduce(auto)").line_for(16) == "auto(21,5,1)"
    assert reduction_scheme("auto(9,9,9)").line_for(16) == "auto(9,9,9)"


@given(st.integers(1, 9), st.integers(1, 9))
def test_a_snake_passes_every_element_and_ends_in_the_last(columns: int, rows: int) -> None:
    snake = Snake(columns, rows)
    way = list(snake.way())
    assert len(set(way)) == columns * rows
    assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in pairwise(way))
    assert way[0] == (0, snake.first_column)
    assert way[-1] == (rows - 1, columns - 1)
    assert [snake.places[place] for place in way] == list(range(columns * rows))


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 7), (2, 2), (4, 3), (16, 32), (100, 1)])
@pytest.mark.parametrize("words", [1, 64, 4096])
def test_no_two_choices_are_the_same(groups: tuple[int, int], words: int) -> None:
    schemes = schemes_of(groups, 4 * prod(groups), PUBLISHED_COSTS.of(words))
    chains = [(s.order, *(line_chains(group, s.line) for group in groups)) for s in schemes]
    assert len(set(chains)) == len(chains)
    assert schemes[0] == ReductionScheme("chain")
    assert any(s.order == "snake" for s in schemes) == (min(groups) > 1)
    assert sum(s.order == "y_first" for s in schemes) == (
        sum(s.order == "x_first" for s in schemes) if min(groups) > 1 else 0
    )


def test_two_elements_have_one_way_to_add_up() -> None:
    assert schemes_of((2, 1), 2, PUBLISHED_COSTS.of(9)) == [ReductionScheme("chain")]
    assert schemes_of((1, 1), 9, PUBLISHED_COSTS.of(9)) == [ReductionScheme("chain")]


def test_many_elements_have_no_snake() -> None:
    costs, snake = PUBLISHED_COSTS.of(9), ReductionScheme("chain", "snake")
    assert snake in schemes_of((8, 4), MOST_WINDING, costs)
    assert snake not in schemes_of((8, 4), 2 * MOST_WINDING, costs)
