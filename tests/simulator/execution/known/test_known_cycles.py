"""Bounds and cycles of equal Einsums are found again, and change no answer of a search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from grid_mappings import RESIDENT_GEMV

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.shared.hit_counts import EINSUMS, SIMULATIONS
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import (
    ForbiddenMapping,
    InfeasibleMapping,
    OverfilledMemory,
    Refusal,
    RefusalKind,
)
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.known.known_cycles import CyclesQuestion, KnownCycles
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.known.content_store import NOTHING_KEPT, ContentStore
from tilewright.simulator.lowering.addresses import LeftTensors
from tilewright.simulator.quotient import pattern_cycles
from tilewright.simulator.search import grid_mapping
from tilewright.simulator.search.candidates import candidates
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.fronts.grid_front import GridFrontSearch
from tilewright.simulator.search.grid_certificate import GridObjective
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid

HARDWARE = Path(__file__).resolve().parents[4] / "studies" / "hardware" / "wafer_grid.yaml"
CHAIN = """
workload:
  rank_sizes: {M: 4, K: 6, N: 4, P: 3}
  bits_per_value: {All: 32}
  persistent_tensors: A | B
  einsums:
  - "T[m, n] = A[k, n] * X[m, k]"
  - "Y[m, p] = T[m, n] * B[n, p]"
"""
SHARES = GridConstraints(x="k", y="m", tile="none")


def mapped(
    store: ContentStore,
    constraints: dict[str, GridConstraints] | None = None,
    text: str = CHAIN,
    *,
    columns: int = 3,
    seed: int = 0,
    objective: GridObjective = "latency",
) -> GridMapping:
    arch = load_arch(HARDWARE, variables={"GridX": columns, "GridY": 2 if text == CHAIN else 6})
    workload = load_workload(load_document("w.yaml", text=text))
    settings = ExecutionSettings(known=store, seed=seed)
    request = GridRequest(
        objective=objective, settings=settings, constraints=constraints or {}, most_executions=6
    )
    return map_on_grid(arch, workload, request)


def answer(found: GridMapping) -> str:
    shown = [found.mapping, found.certificate, found.value, found.execution.counts]
    return str([*shown, *(result.certificate for result in found.results.values())])


@pytest.fixture
def hits() -> Iterator[list[int]]:
    """Numbers of (Einsums, known ones, simulations, known ones) since the last look."""
    EINSUMS.asked = EINSUMS.shared = SIMULATIONS.asked = SIMULATIONS.shared = 0
    yield []
    EINSUMS.asked = EINSUMS.shared = SIMULATIONS.asked = SIMULATIONS.shared = 0


def taken() -> tuple[int, int, int, int]:
    found = EINSUMS.asked, EINSUMS.shared, SIMULATIONS.asked, SIMULATIONS.shared
    EINSUMS.asked = EINSUMS.shared = SIMULATIONS.asked = SIMULATIONS.shared = 0
    return found


@pytest.mark.usefixtures("hits")
def test_an_equal_search_simulates_nothing_again(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    alone = answer(mapped(NOTHING_KEPT))
    assert taken()[1::2] == (0, 0)
    assert answer(mapped(store)) == alone
    einsums, known, simulations, repeated = taken()
    assert einsums > 2
    assert (known, repeated) == (0, 0)
    assert answer(mapped(store, seed=5)) == alone  # cycles do not depend on the values
    warm = taken()
    assert warm[:2] == (einsums, einsums)
    # runs that were ended early are not known
    assert simulations >= warm[3] >= 0.5 * simulations


@pytest.mark.nightly
@pytest.mark.usefixtures("hits")
def test_designs_share_the_einsums_that_they_have_in_common(tmp_path: Path) -> None:
    store, chain = ContentStore(tmp_path), GridConstraints(reduction="chain")
    mapped(store)
    einsums = taken()[0]
    assert answer(mapped(store, {"Y": chain})) == answer(mapped(NOTHING_KEPT, {"Y": chain}))
    assert taken()[:2] == (einsums, einsums / 2)  # T's, not Y's
    mapped(store, {"T": chain, "Y": chain})
    assert taken()[:2] == (einsums, einsums / 2)
    assert answer(mapped(store, columns=2)) == answer(mapped(NOTHING_KEPT, columns=2))
    assert taken()[1::2] == (0, 0)


DAMAGES: tuple[dict[str, object], ...] = (
    {"bounds": [1, 2]},
    {"bounds": 7},
    {"bounds": [[1, 0]]},
    {"bounds": [{"what": "no room"}]},
    {"bounds": [{"as": 1 << 40}]},
    {"bounds": [{"as": None}]},
    {"ran": {}},
    {"ran": 1, "timed": 2},
    {},
)


def test_answers_of_another_shape_count_as_missing(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    alone = answer(mapped(store, {"Y": SHARES}, RESIDENT_GEMV))
    for damage in DAMAGES:
        paths = list(tmp_path.rglob("*.json"))
        assert paths
        for path in paths:
            store.put(path.parent.name + path.stem, damage)
        assert answer(mapped(store, {"Y": SHARES}, RESIDENT_GEMV)) == alone


@pytest.mark.usefixtures("hits")
def test_what_a_pattern_says_is_known_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "LARGE_GRID", 64)
    monkeypatch.setattr(pattern_cycles, "LARGEST_SHARE", 1)
    store = ContentStore(tmp_path)
    found = [mapped(at, {"Y": SHARES}, RESIDENT_GEMV, columns=30) for at in (NOTHING_KEPT, store)]
    assert found[0].certificate.timed > 0
    taken()
    found.append(mapped(store, {"Y": SHARES}, RESIDENT_GEMV, columns=30))
    assert len(set(map(answer, found))) == 1
    simulations, repeated = taken()[2:]
    assert repeated > 0
    assert simulations - repeated <= found[0].certificate.executed


def resident_gemv() -> tuple[FlatArch, Einsum]:
    """The path to the elements of a small grid, and a product whose matrix is in them."""
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 2})
    workload = load_workload(load_document("w.yaml", text=RESIDENT_GEMV))
    return grid_path(arch, workload, workload.einsums[0]), workload.einsums[0]


def test_a_front_is_the_same(tmp_path: Path) -> None:
    flat, einsum = resident_gemv()
    fronts = [
        GridFrontSearch(settings=ExecutionSettings(known=store), constraints=SHARES).run(
            flat, einsum
        )
        for store in (NOTHING_KEPT, ContentStore(tmp_path), ContentStore(tmp_path))
    ]
    shown = [
        (front.certificate, [point.execution.cycles for point in front.points]) for front in fronts
    ]
    assert shown[0] == shown[1] == shown[2]


@pytest.mark.usefixtures("hits")
def test_a_run_that_ends_early_is_not_known(tmp_path: Path) -> None:
    flat, einsum = resident_gemv()
    space = GridMapspace(grid_of(flat), einsum)
    settings = ExecutionSettings(known=ContentStore(tmp_path))
    choice = space.members(next(iter(space.families())))[0]
    candidates = Candidates.of("latency", settings, flat, space)
    with pytest.raises(RunStoppedError):
        candidates.simulated_cycles(choice, lambda cycles: True)
    candidates.known.save()
    taken()
    for known in (0, 1):
        candidates = Candidates.of("latency", settings, flat, space)
        assert candidates.simulated_cycles(choice) > 0
        candidates.known.save()
        assert taken() == (1, 1, 1, known)


@pytest.mark.usefixtures("hits")
def test_refusals_are_known_with_their_kinds(tmp_path: Path) -> None:
    flat, einsum = resident_gemv()
    space = GridMapspace(grid_of(flat), einsum)
    question = CyclesQuestion(flat, space, LeftTensors(), ExecutionSettings().profile(space.grid))
    families = list(space.families())
    errors = OverfilledMemory("small"), ForbiddenMapping("rule"), InfeasibleMapping("other")
    of_family = dict(zip(families[::-1], cycle(errors), strict=False))

    def refuse(family: GridFamily) -> float:
        raise of_family[family]

    last_first = range(len(families))[::-1]
    found, known = (
        dict(KnownCycles(question, ContentStore(tmp_path)).bounds(families, last_first, refuse))
        for _ in range(2)
    )
    assert taken()[:2] == (2, 1)
    assert found == known
    first = [found[number] for number in last_first[:2]]
    assert first == [Refusal("small", RefusalKind.MEMORY), Refusal("rule", RefusalKind.RULE)]


QUERY_AND_KEY = """
workload:
  rank_sizes: {M: 8, N: 8, D: 6, H: 4}
  bits_per_value: {All: 16}
  einsums:
  - "Q[m, h] = X[m, d] * WQ[d, h]"
  - "K[n, h] = X[M: n, d] * WK[d, h]"
  - "S[m, n] = Q[m, h] * K[n, h]"
"""


class _NothingShared:
    """In the place of the answers that a search shares: it keeps none."""

    def __new__(cls, *_: object) -> object:
        return NOTHING_KEPT


@pytest.mark.usefixtures("hits")
def test_equal_einsums_of_a_workload_share_bounds_and_cycles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = mapped(NOTHING_KEPT, text=QUERY_AND_KEY)
    einsums, known, simulations, repeated = taken()
    assert 0 < known < einsums
    assert 0 < repeated < simulations
    monkeypatch.setattr(grid_mapping, "SearchAnswers", _NothingShared)
    alone = mapped(NOTHING_KEPT, text=QUERY_AND_KEY)
    assert taken() == (0, 0, 0, 0)
    assert answer(alone) == answer(both)


@pytest.mark.usefixtures("hits")
def test_bounds_with_parts_of_the_grid_stand_beside_those_without(tmp_path: Path) -> None:
    """Those of energy, for which tensors that stay may be on a part of the grid, are others."""
    store = ContentStore(tmp_path)
    objectives: list[GridObjective] = ["latency", "energy", "latency"]
    for objective in objectives:
        taken()
        mapped(store, objective=objective)
    einsums, known, *_ = taken()
    assert known == einsums > 0


@pytest.mark.usefixtures("hits")
def test_bounds_of_some_families_only_are_not_kept(tmp_path: Path) -> None:
    flat, einsum = resident_gemv()
    space = GridMapspace(grid_of(flat), einsum)
    settings = ExecutionSettings(known=ContentStore(tmp_path))
    short = Candidates.unbounded("latency", settings, flat, space).bounded(Budget(0.0))
    whole = Candidates.of("latency", settings, flat, space)
    assert len(short.families) == 1 < len(whole.families)
    assert Candidates.of("latency", settings, flat, space).families == whole.families
