"""The adapter to the optional package hwcomponents."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import math
import sys
import types
from pathlib import Path

import pytest
from flat_texts import OPEN

from tilewright.arch.components.cost_query import ActionEstimate, CostEstimate, CostQuery
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch


@pytest.mark.row("001.41", "001.45")
def test_the_optional_package_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in with the package's interface; see also the test with the package."""
    asked: list[tuple[str, dict[str, object], dict[str, object]]] = []

    class Model:
        area, leak_power = 2.0, 3.0

        def try_call_arbitrary_action(
            self, action_name: str, _return_estimation_object: bool, **given: object
        ) -> types.SimpleNamespace:
            asked.append((action_name, {}, given))
            cost = types.SimpleNamespace(energy=1e-12, latency=1e-9, throughput=4e9)
            return types.SimpleNamespace(value=cost if action_name == "read" else (1e-12, 4e9))

    package = types.ModuleType("hwcomponents")
    package.__spec__ = importlib.machinery.ModuleSpec("hwcomponents", None)
    package.get_model = lambda name, attributes, required_actions: Model()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hwcomponents", package)
    text = OPEN.replace(
        "component_class: SRAM",
        "component_class: SRAM, actions: [{name: read, bits_per_action: 64}]",
    )
    memory = flatten(load_arch(text))[0].component("M")
    assert (memory.area, memory.leak_power) == (2, 3)
    assert memory.action("write").energy == 2e-12
    assert memory.action("read").throughput == 4e9
    assert [(name, given.get("bits_per_action")) for name, _, given in asked[:2]] == [
        ("read", 64),
        ("write", 1),
    ]
    Model.area = math.nan
    with pytest.raises(SpecError, match="cannot estimate M: it answered nan"):
        flatten(load_arch(text))


def test_the_package_itself_agrees_with_its_recorded_figures(shared_data: Path) -> None:
    """Only where it is installed; classes that need its CACTI binary are left out."""
    pytest.importorskip("hwcomponents_library")
    from tilewright.arch.components.hwcomponents import HwComponents

    recorded = json.loads((shared_data / "accelforge/hwcomponents_expected.json").read_text())
    arch = load_arch(shared_data / "accelforge/arches/eyeriss.yaml")
    package = HwComponents()

    class NoCacti:
        def estimate(self, query: CostQuery) -> CostEstimate | None:
            if query.component_class == "SmartBufferSRAM":
                free = ActionEstimate(0.0, 1.0)
                return CostEstimate(0.0, 0.0, dict.fromkeys(query.actions, free))
            return package.estimate(query)

    flat = flatten(arch.with_estimators(NoCacti()))[0]
    for name in ("MainMemory", "MAC"):
        for action, costs in recorded["eyeriss"][name]["actions"].items():
            assert flat.component(name).action(action).energy == pytest.approx(costs["energy"])
