"""Einsums of a cascade in one program: values, counts, cycles and the bound below them.

`execute` itself compares the results with numpy and the machine's counts with the model's.
"""

from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from explore import at_night
from pipeline_cases import EXAMPLES, PipelineCase, example, page_row, random_pipeline

from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.fast.fast_machine import FastMachine

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")


def both(case: PipelineCase, machine: str = MACHINES[0]) -> tuple[Execution, Execution]:
    settings = ExecutionSettings(machine=machine)
    pipeline = execute(case.arch, case.workload, case.mapping, settings=settings)
    return pipeline, execute(case.arch, case.workload, case.in_sequence(), settings=settings)


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 10))])
def test_random_pipelines_compute_what_the_einsums_one_after_the_other_do(part: int) -> None:
    turns, shares = Counter[int](), []
    for seed in range(10 * part, 10 * (part + 1)):
        pipeline, sequence = both(random_pipeline(seed), MACHINES[seed % 2])
        (run,) = pipeline.pipelines
        turns[run.plan.turns] += 1
        assert run.counts == run.predicted
        assert 0 < run.lower_bound_cycles <= run.cycles, seed
        fast = FastMachine(run.plan.program(), run.profile).cycles
        assert fast in (None, run.cycles), seed
        np.testing.assert_allclose(pipeline.values["Z"], sequence.values["Z"], rtol=1e-4, atol=1e-4)
        moved = {key: n for key, n in sequence.counts.items() if "/Host/" in key}
        assert sum(moved.values()) == sum(n for key, n in run.counts.items() if "/Host/" in key)
        shares.append(run.cycles / sequence.cycles)
    assert min(turns[1], turns[2] + turns[3]) >= 2
    assert median(shares) < 1  # fewer cycles in the middle, not in all


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_on_8_x_8_elements_equal_numpy_in_fewer_cycles(name: str) -> None:
    for turns in (1, 4):
        case = example(name, turns)
        pipeline, sequence = both(case)
        (run,) = pipeline.pipelines
        assert run.elements == 64
        assert run.plan.turns == turns
        inputs = {n: v.astype(np.float64) for n, v in pipeline.values.items() if n != "Z"}
        expected = reference_values(case.workload, inputs)["Z"]
        np.testing.assert_allclose(pipeline.values["Z"], expected, rtol=1e-4, atol=1e-5)
        assert 0.8 * run.cycles < run.lower_bound_cycles <= run.cycles
        if turns == 1:
            assert run.cycles < sequence.cycles
            assert {"S", "H", "G"}.isdisjoint(pipeline.values)


def test_tiles_take_a_part_of_the_memory_of_whole_tensors() -> None:
    whole, tiles = (
        execute(case.arch, case.workload, case.mapping).pipelines[0].plan
        for case in (example("attention", 1), example("attention", 8))
    )
    extents = [
        {t.name: t.values for plan in p.plans for t in plan.read.tensors} for p in (whole, tiles)
    ]
    for name in ("S", "Top", "E", "Sum", "P"):
        assert extents[0][name] == 8 * extents[1][name]
    assert tiles.words < whole.words


def test_an_element_begins_its_next_turn_while_others_are_in_the_one_before() -> None:
    case = example("two layers", 4)
    run = execute(
        case.arch, case.workload, case.mapping, settings=ExecutionSettings(shown_elements=None)
    ).pipelines[0]

    def times(column: int, label: str) -> list[tuple[int, int]]:
        return sorted(
            (entry.start, entry.end)
            for entry in run.trace.timeline
            if (entry.row, entry.column, entry.label) == (0, column, label)
        )

    begun = [start for start, _ in times(0, "receive A")]
    ended = [end for _, end in times(7, "add Z")]
    assert len(begun) == len(ended) == 4
    assert all(start < end for start, end in zip(begun[1:], ended, strict=False))


def test_the_page_shows_the_figures_of_today(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "validation" / "pipelines.md").read_text(encoding="utf-8")
    for name in EXAMPLES:
        assert page_row(name, 4) in page
    written = tmp_path / "mapping.yaml"
    written.write_text(page.split("```yaml\n")[1].split("```")[0])
    assert load_mapping(written) == example("two layers", 4).mapping
