"""Cycles of the machine beside recorded ones; the validation page shows the same figures."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.examples.published_collectives import broadcast, star_reduce
from tilewright.simulator.examples.ring_all_reduce import ring_all_reduce
from tilewright.simulator.examples.tree_reduce import tree_reduce
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine


@pytest.fixture(scope="module")
def validation(root: Path) -> ModuleType:
    path = root / "tools" / "fabric_validation.py"
    spec = importlib.util.spec_from_file_location("fabric_validation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["fabric_validation"] = module
    spec.loader.exec_module(module)
    return module


QUICK = ("operation", "relay", "chain", "collective", "bank", "rate", "kernel", "overlap", "spada")


@pytest.mark.parametrize("kind", QUICK)
def test_page_shows_the_figures_of_today(validation: ModuleType, kind: str) -> None:
    """Each row of the tables that take a second or less; at night the whole page."""
    shown = validation.PAGE.read_text(encoding="utf-8").splitlines()
    rows = getattr(validation, f"{kind}_rows")()
    assert rows
    assert [str(row) for row in rows if str(row) not in shown] == []


@pytest.mark.nightly
def test_the_whole_page_is_that_of_today(validation: ModuleType) -> None:
    assert validation.PAGE.read_text(encoding="utf-8") == validation.page()


def test_reductions_within_three_percent(validation: ModuleType, shared_data: Path) -> None:
    """All rows of the reference data, whatever rows stand there; so do the tests below."""
    table = tables_of(shared_data)["two_phase_reduce_wse2"]
    recorded = [(row["step"], row["cycles"]) for row in table["rows"]]
    rows = validation.reduction_rows(recorded, (table["P"], table["B_f32"]))
    assert [row.name for row in rows if abs(row.error) > 0.03] == []


def tables_of(shared_data: Path) -> dict[str, Any]:
    """Return the reference data of the machine."""
    tables: dict[str, Any] = json.loads((shared_data / "wse" / "tables.json").read_text())
    return tables


def test_the_map_of_the_single_tile_product_within_two_percent(validation: ModuleType) -> None:
    """Recorded: 780 cycles (FABRICA, github luozoupi @4b34f02, kernels/baselines_wse3.json)."""
    (row,) = (row for row in validation.kernel_rows() if row.name.startswith("single-tile"))
    assert abs(row.error) <= 0.02
    entries = validation.run(validation.parse_program(validation.MATVEC), "wse3-sdk-sim")
    assert entries.counts.macs == 25 * 28
    assert entries.trace.cycles_by_reason()["read conflict"] == 0


def test_one_message_takes_its_recorded_cycles(validation: ModuleType, shared_data: Path) -> None:
    row = tables_of(shared_data)["message_wse3"]
    cycles = validation.message_cycles(row["words"], row["hops"])
    assert cycles == row["send_dispatch_to_completion_task"]
    assert validation.message_errors() == [0]


def test_operation_timeline_exact(validation: ModuleType, shared_data: Path) -> None:
    rows = tables_of(shared_data)["dsd_timeline_wse3"]["rows"]
    recorded = [(row["n"], row["total"]) for row in rows]
    assert {row.error for row in validation.operation_rows(recorded)} == {0.0}


def test_relay_within_five_percent(validation: ModuleType) -> None:
    assert [row.name for row in validation.relay_rows() if abs(row.error) > 0.05] == []
    few = {"2 stages, 8 words", "1 stages, 16 words", "1 stages, 1 words"}
    assert {r.name for r in validation.relay_between_rows() if abs(r.error) > 0.05} == few


def test_banks_within_two_percent(validation: ModuleType, shared_data: Path) -> None:
    """The rows name no operation: two elements at once are additions, one is a product."""
    recorded = []
    for row in tables_of(shared_data)["bank_conflicts_wse2"]["rows"]:
        operation, distance = ("fadds", 4) if row.get("simd2") else ("fmuls", 2)
        distance = 0 if row.get("conflict") else distance
        recorded.append((operation, row["n"], distance, row["cycles"]))
    rows = validation.bank_rows(recorded)
    assert [row.name for row in rows if abs(row.error) > 0.02] == []


def test_rates_within_two_percent(validation: ModuleType) -> None:
    """Of short copies only the setup differs."""
    rows = validation.rate_rows()
    assert {row.name for row in rows if abs(row.error) > 0.02} == {"fmovh, n = 64", "fmovs, n = 64"}
    assert rows[-1].error == 0


def test_collectives_within_five_percent_where_a_launch_is_little(validation: ModuleType) -> None:
    rows = validation.collective_rows()
    assert [r.name for r in rows if abs(r.error) > 0.05 and r.recorded > 260] == []
    assert {r.simulated - r.recorded for r in rows if r.name.startswith("star")} == {7}
    assert {r.simulated - r.recorded for r in rows if r.name.startswith("broadcast")} == {6}


def test_forms_between_the_sampled_sizes(validation: ModuleType) -> None:
    rows = validation.between_rows()
    for name, more in (("chain", 6), ("star", 7), ("broadcast", 6)):
        assert {r.simulated - r.recorded for r in rows if r.name.startswith(name)} == {more}
    assert all(abs(r.error) < 0.05 for r in rows)


def test_the_ring_takes_little_more_than_a_cycle_for_each_word(validation: ModuleType) -> None:
    """The rest are launches, and words of both directions that wait for each other."""
    for row, (elements, words) in zip(validation.ring_rows(), validation.RINGS, strict=True):
        handled = validation.ring_operations(elements, words)
        assert handled < row.simulated < 1.3 * handled


def test_forms_of_the_table(validation: ModuleType, shared_data: Path) -> None:
    """Launches add 6 or 7 cycles to the forms of the table, which rounds; trees lie below."""
    for row in tables_of(shared_data)["collectives_model_wse2"]["rows"]:
        size = row["P"], row["B"]
        programs = {"chain": chain_reduce(*size), "broadcast": broadcast(1, *size)}
        if (row["P"] - 1) * row["B"] < 0x7FFF:
            programs["star"] = star_reduce(*size)
        for kind, more in (("chain", 6), ("star", 7), ("broadcast", 6)):
            if kind in programs:
                cycles = validation.run(programs[kind], "wse2-sdk-sim").cycles
                assert abs(cycles - row[kind] - more) <= 1, (kind, size)
        tree = validation.run(tree_reduce(*size), "wse2-sdk-sim").cycles
        assert 0.95 * row["tree"] <= tree <= row["tree"] + 9, size


@pytest.mark.parametrize(("elements", "words"), [(4, 5), (16, 33), (512, 2)])
def test_collectives_give_the_sums(elements: int, words: int) -> None:
    v = np.arange(elements * words, dtype=np.float32).reshape(1, elements, words)
    profile = load_profile("wse2-sdk-sim")
    tree = Machine(tree_reduce(elements, words), profile).run(memory={"v": v})
    np.testing.assert_array_equal(tree.memory["v"][0, 0], v[0].sum(axis=0))
    memory = {"v": {(0, column): v[0, column] for column in range(1, elements)}}
    memory["v"][0, 0] = np.append(v[0, 0], 0)
    star = Machine(star_reduce(elements, words), profile).run(memory=memory)
    np.testing.assert_array_equal(star.memory["v"][0, 0].ravel()[:words], v[0].sum(axis=0))
    flood = Machine(broadcast(elements, 3, words), profile).run(memory={"v": {(0, 0): v[0, 1]}})
    assert (flood.memory["v"] == v[0, 1]).all()


@pytest.mark.parametrize(("elements", "words"), [(2, 3), (8, 1), (32, 8000)])
@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_trees_of_any_size(elements: int, words: int, machine: str) -> None:
    """Also where one operation cannot take all words of the west end."""
    v = np.random.default_rng(5).integers(-9, 9, (1, elements, words)).astype(np.float32)
    tree = Machine(tree_reduce(elements, words), load_profile(machine)).run(memory={"v": v})
    np.testing.assert_array_equal(tree.memory["v"][0, 0], v[0].sum(axis=0))


@pytest.mark.parametrize(("elements", "words"), [(2, 2), (4, 4), (6, 30), (8, 8 * 17), (10, 320)])
@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_the_ring_gives_every_element_the_sum(elements: int, words: int, machine: str) -> None:
    v = np.random.default_rng(5).integers(-9, 9, (1, elements, words)).astype(np.float32)
    ring = Machine(ring_all_reduce(elements, words), load_profile(machine)).run(memory={"v": v})
    assert (ring.memory["v"][0] == v[0].sum(axis=0)).all()


@pytest.mark.parametrize(("elements", "words"), [(3, 30), (4, 5), (1, 4)])
def test_a_ring_needs_even_elements_that_divide_the_words(elements: int, words: int) -> None:
    with pytest.raises(ProgramError, match="even number"):
        ring_all_reduce(elements, words)


@pytest.mark.parametrize(("elements", "words"), [(2, 1), (3, 50), (16, 7), (40, 300)])
def test_chain_equals_its_closed_form_and_a_constant(elements: int, words: int) -> None:
    """B + 6 (P - 1) + launch; the launch does not depend on the size."""
    profile = load_profile("wse2-sdk-sim")
    launch = 5 + 1  # dispatch of the first send; the last instruction executes a cycle later
    cycles = Machine(chain_reduce(elements, words), profile).run().cycles
    assert cycles == words + 6 * (elements - 1) + launch
