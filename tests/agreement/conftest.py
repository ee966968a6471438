"""A fixture of tests that ask much of one mapspace."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.mapper.fronts import mapspace_front
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact import exact
from tilewright.mapper.searches.program.compiled_mapspace import CompiledMapspace, compile_mapspace


@pytest.fixture
def compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile a mapspace once for all objectives, fronts and formulas that a test asks of it.

    The programs depend on the price of a second and on the memories whose usage counts, which
    are in the key. Small spaces take longer to compile than to search.
    """
    compiled: dict[tuple[Any, ...], tuple[Mapspace, CompiledMapspace]] = {}

    def once(space: Mapspace, *given: Any, **named: Any) -> CompiledMapspace:
        key = (id(space), given[:1], named.get("tracked"))
        if key not in compiled:
            compiled[key] = (space, compile_mapspace(space, *given, **named))
        return compiled[key][1]

    for module in (exact, mapspace_front):
        monkeypatch.setattr(module, "compile_mapspace", once)
