"""The search for a whole workload: its answer is the least of all executions of all mappings."""

import re
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from cascade_combinations import WHOLE, all_runs, small_constraints
from cascades import CASCADES, cascade_arch, cascade_workload
from explore import at_night
from scipy.ndimage import correlate

from tilewright.arch.files.source import load_document
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.mapper.mapping.mapping import Storage
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution import einsum_execution
from tilewright.simulator.execution.einsum_execution import (
    VALUES_ALONE,
    ExecutionSettings,
    TimedPlan,
)
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.run.repetition import repeats
from tilewright.simulator.search import grid_mapping
from tilewright.simulator.search.candidates import candidate_runs
from tilewright.simulator.search.candidates.candidate_runs import CandidateRuns
from tilewright.simulator.search.grid_certificate import NotExecuted, PricedTime
from tilewright.simulator.search.grid_mapping import (
    GridMapping,
    GridRequest,
    cascade_of,
    map_on_grid,
)


def best_of_all(
    workload: Workload,
    constraints: dict[str, GridConstraints],
    settings: ExecutionSettings | None = None,
    metric: str = "cycles",
    *,
    has_orders: bool = True,
) -> tuple[float, int]:
    """Execute every combination; return the least of a metric, and how many could be executed."""
    has_parts = metric == "energy"
    runs = all_runs(workload, constraints, settings, has_parts=has_parts, has_orders=has_orders)
    values = [getattr(run, metric) for run in runs]
    return min(values), len(values)


def search(name: str, request: GridRequest) -> GridMapping:
    return map_on_grid(cascade_arch(2, 2), cascade_workload(name), request)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("product, row sums", "m"),
        pytest.param("smoothing", "free", marks=pytest.mark.nightly),
        pytest.param("normalized rows", "free", marks=pytest.mark.nightly),
        pytest.param("product, row sums", "free", marks=pytest.mark.nightly),
    ],
)
def test_the_answer_is_the_least_of_all_combinations(name: str, x: str) -> None:
    workload = cascade_workload(name)
    constraints = small_constraints(name, workload, x)
    least, executed = best_of_all(workload, constraints)
    answer = search(name, GridRequest(constraints=constraints))
    assert executed > 15
    assert answer.execution.cycles == least
    assert answer.certificate.is_optimal


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("product, row sums", "m"),
        pytest.param("smoothing", "free", marks=pytest.mark.nightly),
    ],
)
def test_the_least_energy_is_that_of_all_combinations(name: str, x: str) -> None:
    """Those with parts of the grid among them (theory/grid.md §7)."""
    workload = cascade_workload(name)
    constraints = small_constraints(name, workload, x)
    least, executed = best_of_all(workload, constraints, metric="energy")
    answer = search(name, GridRequest(objective="energy", constraints=constraints))
    assert executed > 15
    assert answer.execution.energy == pytest.approx(least, rel=1e-12)
    assert answer.certificate.is_optimal


def test_fewer_elements_do_the_work_where_that_needs_less_energy() -> None:
    """Between the Einsums of a softmax one element has to send nothing to others."""
    text = (
        "workload:\n  rank_sizes: {M: 3, N: 5}\n  bits_per_value: {All: 32}\n  einsums:\n"
        '  - "T[m] = max(A[m, n])"\n  - "E[m, n] = exp(A[m, n] - T[m])"\n'
        '  - "S[m] = sum(E[m, n])"\n  - "P[m, n] = E[m, n] / S[m]"\n'
    )
    workload = load_workload(load_document("softmax.yaml", text=text))
    answer = map_on_grid(cascade_arch(2, 2), workload, GridRequest(objective="energy"))
    alone = map_on_grid(cascade_arch(1, 1), workload, GridRequest(objective="energy"))
    assert answer.certificate.is_optimal
    assert answer.value <= execute(cascade_arch(2, 2), workload, alone.mapping).energy
    assert outside(answer) == {"A", "P"}


@pytest.mark.parametrize(
    "name",
    ["normalized rows", *at_night(*(name for name in CASCADES if name != "normalized rows"))],
)
def test_the_value_is_that_of_the_whole_execution(name: str) -> None:
    """Addresses differ between a search and an execution of the whole; the cycles do not."""
    answer = search(name, GridRequest())
    assert answer.certificate.is_optimal
    assert answer.value == pytest.approx(answer.execution.latency, rel=1e-12)
    assert answer.certificate.bound == pytest.approx(answer.value, rel=1e-12)
    assert answer.gap == pytest.approx(0, abs=1e-12)
    energy = search(name, GridRequest(objective="energy"))
    assert energy.value == pytest.approx(energy.execution.energy, rel=1e-12)
    assert energy.value <= answer.execution.energy


def outside(answer: GridMapping) -> set[str]:
    """The tensors with a Storage outside the grid."""
    found = str(answer.mapping).split("[Host] ")[1:]
    return {name for text in found for name in text.split("\n")[0].split(", ")}


def test_what_stays_is_exchanged_and_equals_numpy() -> None:
    answer = search("elementwise chain", GridRequest())
    assert outside(answer) == {"A", "Z"}
    values = answer.execution.values
    given = np.float64(values["A"])
    np.testing.assert_allclose(values["Z"], (np.exp(given) + given).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("elements", [(1, 1), (3, 2)])
def test_a_scalar_between_einsums_is_exchanged_like_any_tensor(elements: tuple[int, int]) -> None:
    """A tensor without ranks is one value: it may stay, and goes to all elements that need it."""
    text = """workload:
  rank_sizes: {K: 23}
  bits_per_value: {All: 32}
  einsums: ["S[] = sum(square(X[k]))", "Y[k] = X[k] / sqrt(S[])"]
"""
    workload = load_workload(load_document("norm.yaml", text=text))
    answer = map_on_grid(cascade_arch(*elements), workload)
    assert answer.certificate.is_optimal
    given = np.float64(answer.execution.values["X"])
    expected = given / np.sqrt((given**2).sum())
    np.testing.assert_allclose(answer.execution.values["Y"], expected, rtol=1e-5)
    assert elements != (1, 1) or "S" not in outside(answer)


def test_halos_are_exchanged_between_steps_of_a_stencil() -> None:
    answer = map_on_grid(cascade_arch(3, 3), cascade_workload("smoothing", m=9, n=9))
    assert [halo.name for halo in answer.execution.exchanges] == ["S to Z"]
    assert answer.value == pytest.approx(answer.execution.latency, rel=1e-12)
    values = {name: np.float64(array) for name, array in answer.execution.values.items()}
    expected = correlate(values["A"] + 1, values["C"], mode="constant")
    np.testing.assert_allclose(values["Z"], expected, rtol=1e-4, atol=1e-5)


def test_transforms_of_fourier_are_transposed_between_elements() -> None:
    """4 rows of 16 points as 4 x 4: transforms of columns, turned, then of rows; complex values.

    An element has a column first and a row then, so in each row of elements all send to all.
    """
    text = (
        "workload:\n  rank_sizes: {I: 4, A: 4, B: 4, K: 4, L: 4, C: 2, D: 2, E: 2, F: 2}\n"
        "  bits_per_value: {All: 32}\n  persistent_tensors: First | Twiddles | Second\n  einsums:\n"
        '  - "Columns[i, b, k, d] = X[i, a, b, c] * First[a, k, c, d]"\n'
        '  - "Turned[i, b, k, e] = Columns[i, b, k, d] * Twiddles[b, k, d, e]"\n'
        '  - "Z[i, k, l, f] = Turned[i, b, k, e] * Second[b, l, e, f]"\n'
    )
    workload = load_workload(load_document("fourier.yaml", text=text))
    whole = replace(WHOLE, y="i", weights="resident")
    shares = {"Columns": "b", "Turned": "b", "Z": "k"}
    request = GridRequest(constraints={name: replace(whole, x=x) for name, x in shares.items()})
    answer = map_on_grid(cascade_arch(4, 4), workload, request)
    assert answer.certificate.is_optimal
    (moved,) = answer.execution.exchanges
    assert (moved.name, moved.kind) == ("Turned to Z", "reshard")
    assert moved.lower_bound_cycles <= moved.cycles
    apart = cascade_arch(4, 4).with_values({"Host.tensors": {"keep": "X | Columns | Turned | Z"}})
    assert answer.value < map_on_grid(apart, workload, request).value
    rng, four = np.random.default_rng(3), np.arange(4)
    points = rng.standard_normal((4, 16)) + 1j * rng.standard_normal((4, 16))
    turns = [np.exp(-2j * np.pi * np.outer(four, four) / size) for size in (4, 16)]
    operands = {"X": pairs(points.reshape(4, 4, 4)), "Twiddles": rotations(turns[1])}
    operands |= {name: rotations(turns[0]) for name in ("First", "Second")}
    run = execute(cascade_arch(4, 4), workload, answer.mapping, operands=operands)
    transformed = run.values["Z"][..., 0] + 1j * run.values["Z"][..., 1]
    found = transformed.swapaxes(1, 2).reshape(4, 16)
    np.testing.assert_allclose(found, np.fft.fft(points), rtol=1e-4, atol=1e-4)


def pairs(values: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of a real and an imaginary part, in a last rank."""
    return np.stack([values.real, values.imag], axis=-1).astype(np.float32)


def rotations(values: np.ndarray) -> np.ndarray:
    """Factors as 2 x 2 matrices that act on pairs, in the last two ranks."""
    return np.stack([pairs(values), pairs(1j * values)], axis=-2)


def test_an_architecture_that_keeps_a_tensor_outside_has_no_exchange() -> None:
    arch = cascade_arch(2, 2).with_values({"Host.tensors": {"keep": "All"}})
    answer = map_on_grid(arch, cascade_workload("elementwise chain"), GridRequest())
    assert outside(answer) == {"A", "S", "T", "Z"}


@pytest.fixture(scope="module")
def best() -> GridMapping:
    """The best mapping of two products."""
    return search("two products", GridRequest())


def test_exchange_never_makes_an_answer_worse(best: GridMapping) -> None:
    kept = cascade_arch(2, 2).with_values({"Host.tensors": {"keep": "All"}})
    apart = map_on_grid(kept, cascade_workload("two products"), GridRequest())
    assert best.value <= apart.value


def test_a_limit_leaves_a_stated_gap(best: GridMapping) -> None:
    limited = search("two products", GridRequest(most_executions=1))
    assert limited.certificate.executed <= 4
    assert limited.certificate.bound <= best.value <= limited.value
    assert 0 <= limited.gap < 1


def test_nothing_that_fits_names_the_reasons() -> None:
    settings = ExecutionSettings(overrides={"sram_reserved_bytes": 49_140})
    with pytest.raises(NoFeasibleMapping, match="too small"):
        search("two products", GridRequest(settings=settings))


def test_persistent_tensors_of_all_einsums_share_the_memory() -> None:
    """B and C take 512 words each where an element has all of it; with 1,000 only one has."""
    workload = two_weights()
    constraints = {name: replace(WHOLE, x=x) for name, x in (("S", "m"), ("Z", "free"))}

    def request(words: int) -> GridRequest:
        overrides = {"sram_reserved_bytes": 49_152 - 2 * words}
        return GridRequest(constraints=constraints, settings=ExecutionSettings(overrides=overrides))

    large, small = (map_on_grid(cascade_arch(2, 2), workload, request(w)) for w in (2_000, 1_000))
    assert large.certificate.is_optimal
    assert small.certificate.is_optimal
    assert large.value < small.value == pytest.approx(small.execution.latency, rel=1e-12)
    with pytest.raises(InfeasibleMapping, match=r"persistent tensors of all Einsums need 2048"):
        execute(cascade_arch(2, 2), workload, large.mapping, settings=request(1_000).settings)
    whole = replace(WHOLE, x="m", y="m", weights="resident")  # each element has all of both
    constraints |= {"S": whole, "Z": whole}
    with pytest.raises(NoFeasibleMapping, match="persistent tensors of all Einsums do not fit"):
        map_on_grid(cascade_arch(2, 2), workload, request(1_000))


@pytest.mark.nightly
def test_the_answer_is_the_least_where_persistent_tensors_share_the_memory() -> None:
    workload, settings = two_weights(), ExecutionSettings(overrides={"sram_reserved_bytes": 47_152})
    constraints = {"S": replace(WHOLE, x="m"), "Z": WHOLE}
    least, executed = best_of_all(workload, constraints, settings, has_orders=False)
    answer = map_on_grid(
        cascade_arch(2, 2), workload, GridRequest(constraints=constraints, settings=settings)
    )
    assert executed > 500
    assert answer.execution.cycles == least
    assert answer.certificate.is_optimal


def two_weights() -> Workload:
    """Two products of f32 with weights of 16 x 16."""
    text = (
        "workload:\n  rank_sizes: {M: 4, K: 16, N: 16, L: 16}\n  bits_per_value: {All: 32}\n"
        "  persistent_tensors: B | C\n  einsums:\n"
        '  - "S[m, n] = A[m, k] * B[k, n]"\n  - "Z[m, l] = S[m, n] * C[n, l]"\n'
    )
    return load_workload(load_document("weights.yaml", text=text))


def test_the_same_request_gives_the_same_mapping(best: GridMapping) -> None:
    assert search("two products", GridRequest()).mapping == best.mapping
    assert any(isinstance(node, Storage) for node in best.mapping.nodes[0].branches[0])


OVER = Budget(deadline=0.0)


@pytest.mark.parametrize("objective", ["latency", "energy"])
@pytest.mark.parametrize("name", ["normalized rows", "elementwise chain", "smoothing"])
def test_no_mapping_goes_below_the_floor_of_its_einsum(name: str, objective: str) -> None:
    """The floors stand for mappings that nobody bounds."""
    arch, workload = cascade_arch(2, 2), cascade_workload(name)
    request = GridRequest(objective=objective)  # type: ignore[arg-type]
    whole, short = (cascade_of(arch, workload, request, budget=b) for b in (UNLIMITED, OVER))
    assert whole.is_whole
    assert not short.is_whole
    for number, options in enumerate(whole.options):
        floors = {option.candidates.floor for option in options}
        assert len(floors) == 1
        if len(short.options[number]) < len(options):
            assert floors == {short.floors[number]}
        assert 0 < min(floors) <= min(option.bound for option in options)
    assert short.least_bound <= whole.least_bound


def test_a_bound_that_differs_from_the_best_value_by_rounding_ends_the_search() -> None:
    """At this price of a second, the least path has the energy of the best one in another order."""
    rounds = list[float]()

    def note(_executed: int, _value: float, bound: float) -> None:
        rounds.append(bound)
        assert len(rounds) < 100

    price = PricedTime(0.013748000000000234)
    workload = cascade_workload("normalized rows")
    answer = map_on_grid(cascade_arch(2, 2), workload, GridRequest(objective=price), note)
    assert answer.certificate.is_optimal


def test_the_first_candidates_of_einsums_run_side_by_side(
    best: GridMapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one thread or several, the answer is the same."""
    begun = list[GridChoice]()
    begin = CandidateRuns.begin

    def noted(runs: CandidateRuns, choice: GridChoice) -> None:
        begun.append(choice)
        begin(runs, choice)

    monkeypatch.setattr(candidate_runs, "SIDE_BY_SIDE", 0)
    monkeypatch.setattr(repeats, "MOST_CYCLES", 50)
    monkeypatch.setattr(CandidateRuns, "begin", noted)
    beside = search("two products", GridRequest(settings=ExecutionSettings(threads=3)))
    assert len(begun) == len(cascade_workload("two products").einsums)
    assert beside.mapping == best.mapping
    assert beside.certificate == best.certificate


def test_the_answer_runs_for_its_values_alone_where_its_cycles_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are those of an execution that knows nothing, of a plan with the same addresses only."""
    plain = GridRequest(exchanges=False)
    mapping = search("two products", plain).mapping
    whole = execute(cascade_arch(2, 2), cascade_workload("two products"), mapping)
    monkeypatch.setattr(einsum_execution, "VALUES_ALONE_PAY", 0)
    run = search("two products", plain).run
    assert run is not None
    assert {einsum.engine for einsum in run.einsums} == {VALUES_ALONE}
    assert run.cycles == whole.cycles
    assert [e.counts for e in run.einsums] == [e.counts for e in whole.einsums]
    known = TimedPlan(run.einsums[0].plan, 7)
    settings = ExecutionSettings(timed_plans=(known,))
    assert [settings.cycles_of(einsum.plan) for einsum in run.einsums] == [7, None]


def test_what_is_left_out_for_lack_of_time_is_in_the_certificate(best: GridMapping) -> None:
    answer = search("two products", GridRequest(budget_s=0.0))
    assert answer.value >= best.value >= answer.certificate.bound > 0
    assert not answer.certificate.is_optimal
    assert "not looked at for lack of time" in str(answer.certificate)
    assert "lack of time" not in str(best.certificate)


def test_a_search_without_time_finds_what_must_stay_in_the_elements() -> None:
    """Then no mapping leaves everything outside, so that the others are looked at after all."""
    rules = {"keep": "~Intermediates", "may_keep": "~Intermediates"}
    arch = cascade_arch(2, 2).with_values({"Host.tensors": rules})
    work = cascade_workload("elementwise chain")
    answer = map_on_grid(arch, work, GridRequest(budget_s=0.0))
    assert outside(answer) == {"A", "Z"}
    assert answer.certificate.bound <= answer.value


@pytest.mark.parametrize("name", ["two products", "smoothing", "elementwise chain"])
def test_without_time_for_a_run_the_answer_is_a_mapping_with_its_bound(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one that the machine can execute, and the bound holds for its execution."""
    monkeypatch.setattr(grid_mapping, "budget_of_answer", lambda *_: OVER)
    arch, workload = cascade_arch(2, 2), cascade_workload(name)
    answer = map_on_grid(arch, workload, GridRequest(budget_s=1.0))
    assert answer.run is None
    assert (answer.certificate.executed, answer.value, answer.results) == (0, inf, {})
    assert "none executed in the budget" in str(answer.certificate)
    assert "not executed" in repr(answer)
    with pytest.raises(NotExecuted, match=re.escape("execute(arch, workload, answer.mapping)")):
        _ = answer.execution
    run = execute(arch, workload, answer.mapping)
    assert 0 < answer.certificate.bound <= run.latency
    assert answer.bounds == {r.name: r.plan.read.einsum.bounds for r in run.einsums}


@pytest.mark.parametrize("name", ["two products", "smoothing", "product, row sums"])
def test_without_time_an_answer_costs_no_more_than_one_on_which_nothing_stays(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_mapping, "budget_of_answer", lambda *_: OVER)
    free, plain = (search(name, GridRequest(budget_s=60.0, exchanges=e)) for e in (True, False))
    assert free.prediction is not None
    assert plain.prediction is not None
    assert free.prediction.latency <= plain.prediction.latency


@pytest.mark.parametrize("name", ["two products", "one product"])
def test_a_run_on_numbers_that_ends_too_late_leaves_the_simulated_value(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs without numbers have their time; the one on numbers, which may end later, has none."""

    def only_for_the_search(_seconds: float, part: float = 1.0) -> Budget:
        return OVER if part > 1 else UNLIMITED

    monkeypatch.setattr(grid_mapping, "budget_of_answer", only_for_the_search)
    long = cascade_workload("two products", m=16, n=16, k=16)
    workload = replace(long, einsums=long.einsums[:1]) if name == "one product" else long
    request = GridRequest(budget_s=60.0, most_executions=1)
    answer = map_on_grid(cascade_arch(2, 2), workload, request)
    assert answer.run is None
    assert "best of those executed" in str(answer.certificate)
    assert answer.value == execute(cascade_arch(2, 2), workload, answer.mapping).latency
