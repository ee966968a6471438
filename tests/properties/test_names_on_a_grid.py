"""Names of tensors and rank variables decide nothing on a grid but by their order."""

from __future__ import annotations

import re

import pytest
from explore import at_night
from grid_mappings import FORMS, HARDWARE, REPEATED, workload_text

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.known.known_cycles import CyclesQuestion
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.addresses import NOTHING_KEPT
from tilewright.simulator.search.candidates.candidates import Candidates

RUN = 4
"""Candidates of each Einsum that are simulated."""
BY_DAY = ("matrix product", "exponential", "three matrices", "convolution", "sum of all")


def candidates_of(text: str) -> tuple[str, Candidates]:
    """Return the key of the only Einsum of a workload on a small grid, and its candidates."""
    arch = load_arch(HARDWARE, variables={"GridX": 3, "GridY": 2})
    workload = load_workload(load_document("w.yaml", text=text))
    (einsum,) = workload.einsums
    flat = grid_path(arch, workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    settings = ExecutionSettings()
    question = CyclesQuestion(flat, space, NOTHING_KEPT, settings.profile(space.grid))
    return question.key, Candidates.of("latency", settings, flat, space)


def cycles(candidates: Candidates) -> list[int | str]:
    """Return the cycles of candidates from each part of the families, or that they do not run."""
    families = candidates.families
    found: list[int | str] = []
    for bounded in families[:: max(1, len(families) // RUN)]:
        choice = candidates.space.members(bounded.family)[-1]
        try:
            found.append(candidates.simulated_cycles(choice))
        except (InfeasibleMapping, ProgramError) as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.parametrize(
    "form", [*BY_DAY, *at_night(*(form for form in (*FORMS, *REPEATED) if form not in BY_DAY))]
)
def test_other_names_in_the_same_order_change_nothing(form: str) -> None:
    text = workload_text(form)
    other_ranks = re.sub(r"\b([A-Z]): ", r"IN\1: ", text)
    other_tensors = re.sub(r"\b([ABCDZ])\b", r"Of\1", other_ranks)
    other = re.sub(r"\b([a-z])\b", r"in\1", other_tensors)
    assert other != other_tensors != text
    (key, candidates), (other_key, others) = candidates_of(text), candidates_of(other)
    assert key == other_key
    assert [f.bound for f in candidates.families] == [f.bound for f in others.families]
    assert sorted(candidates.infeasible.values()) == sorted(others.infeasible.values())
    assert cycles(candidates) == cycles(others)
