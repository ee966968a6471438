"""Costs of moves are asked for once, and again when an exchange was found or has run."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.mapper.grid.exchanges import reshard
from tilewright.simulator.exchanges import exchange_move
from tilewright.simulator.exchanges.exchange_move import Move
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of
from tilewright.simulator.search.paths.option import Option
from tilewright.simulator.search.paths.path_graph import PathQuestion

BOUND = PathQuestion("bound")


def first_reader(paths: Cascade) -> tuple[str, int, Option]:
    option = next(option for option in paths.options[1] if option.reads)
    return (*option.reads[0], option)


def test_costs_follow_what_is_found_and_executed() -> None:
    paths = cascade_of(
        cascade_arch(4, 4), cascade_workload("two products", m=8, n=16), GridRequest()
    )
    name, needed, option = first_reader(paths)
    moves = [paths._move(name, place, needed, option) for place in paths.moves.places[name]]
    before = paths.moves.to(name, needed, option, BOUND)
    assert before.tolist() == [move.bound for move in moves]
    assert paths.moves.to(name, needed, option, BOUND) is before
    values = PathQuestion("value")
    assert set(paths.moves.to(name, needed, option, values)) == {0.0, inf}
    assert paths.moves.find(moves)
    assert not paths.moves.find(moves)
    after = paths.moves.to(name, needed, option, BOUND)
    assert (after >= before).all()
    assert (after > before).any()
    assert paths.moves.execute(moves) == sum(not move.is_there for move in moves)
    np.testing.assert_array_equal(
        paths.moves.to(name, needed, option, values), [move.value for move in moves]
    )
    assert (paths.moves.to(name, needed, option, values) >= after).all()


def test_reshards_of_too_many_flows_have_no_finite_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `reshard` refuses when it is asked for, the bounds of paths know before."""
    monkeypatch.setattr(exchange_move, "MOST_FLOWS", 6)
    monkeypatch.setattr(reshard, "MOST_FLOWS", 6)
    paths = cascade_of(cascade_arch(4, 4), cascade_workload("smoothing"), GridRequest())
    name, needed, option = first_reader(paths)
    moves = [paths._move(name, place, needed, option) for place in paths.moves.places[name]]
    costs = paths.moves.to(name, needed, option, BOUND)
    refused = [move for move, cost in zip(moves, costs, strict=True) if cost == inf]
    assert 0 < len(refused) < len(moves)
    for move in refused:
        assert move.is_reshard
        assert move.least.flows > 6
        assert reshard.reshard(name, move.held, move.needed) is None


def test_without_reshards_a_question_has_no_path_over_one() -> None:
    paths = cascade_of(cascade_arch(2, 2), cascade_workload("smoothing"), GridRequest())
    name, needed, option = first_reader(paths)
    costs = paths.moves.to(name, needed, option, PathQuestion("bound", reshards=False))
    moves = [paths._move(name, place, needed, option) for place in paths.moves.places[name]]
    assert (costs == inf).tolist() == [move.is_reshard for move in moves]
    assert any(move.is_reshard for move in moves)


def test_moves_of_tensors_between_the_same_parts_have_one_least_cost() -> None:
    paths = cascade_of(cascade_arch(2, 2), cascade_workload("elementwise chain"), GridRequest())
    name, needed, option = first_reader(paths)
    for place in paths.moves.places[name]:
        move = paths._move(name, place, needed, option)
        other = paths._move("another tensor", place, needed, option)
        assert other is not move
        assert other.alike is move
        alone = Move(name, move.held, move.needed, move.candidates, move.read)
        assert other.least == move.least == alone.least
        assert other.bound == move.bound == alone.bound
