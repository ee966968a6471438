"""Layouts at the start, in the steady state and at the end."""

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout_phases import LayoutPhases
from tilewright.mapper.layout.schemes.buffering import multi_buffered
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout


def test_only_the_steady_state_may_take_turns() -> None:
    line = linear_map_layout((8,), (1,), [])
    stream = line.with_place(multi_buffered(4, 8, 2))
    phases = LayoutPhases(line, stream, line)
    assert phases.streamed
    assert phases.moves
    assert not LayoutPhases.resident(line).moves
    assert not LayoutPhases.resident(line.with_place(multi_buffered(4, 8, 4))).streamed
    with pytest.raises(SpecError, match="at the start, 4 blocks of a shard have 2 places"):
        LayoutPhases(stream, stream, line)
    with pytest.raises(SpecError, match="are of one tensor"):
        LayoutPhases(line, line, linear_map_layout((9,), (1,), []))
