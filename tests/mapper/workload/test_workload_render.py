"""Cascades drawn as text and as Mermaid."""

from __future__ import annotations

from collections.abc import Callable

from mixed_workload import MIXED

from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_render import cascade_mermaid, cascade_text


def test_the_cascade_as_text(golden: Callable[[str], None]) -> None:
    golden(cascade_text(load_workload(MIXED)))


def test_the_cascade_as_mermaid(golden: Callable[[str], None]) -> None:
    golden(cascade_mermaid(load_workload(MIXED)))
