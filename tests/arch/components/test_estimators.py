"""The order of estimators: cost tables, class Dummy, hwcomponents; the error when none answers."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import math

import pytest
from flat_texts import OPEN

from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch


def test_dummies_cost_nothing() -> None:
    flat = flatten(load_arch(OPEN.replace("SRAM", "Dummy").replace("Mult", "Dummy")))[0]
    assert flat.component("M").action("read").energy == 0
    assert math.isinf(flat.component("M").action("read").throughput)
    assert flat.total_area == 0


@pytest.mark.skipif(
    importlib.util.find_spec("hwcomponents") is not None, reason="hwcomponents is installed"
)
def test_nobody_knows_the_component() -> None:
    with pytest.raises(SpecError) as caught:
        flatten(load_arch(OPEN))
    assert caught.value.what == "no estimator knows M (component_class: SRAM)"
    assert caught.value.where is not None
    assert caught.value.where.line == 3
    assert "install the package hwcomponents" in str(caught.value.instead)
