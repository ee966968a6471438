"""Mappings on a grid: what is in the mapspace runs, equals numpy, and counts as predicted.

`execute_einsum` itself compares the result with numpy and the machine's counts with the model's,
and raises WrongResult where they differ; so a run that returns has passed both.
"""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from explore import at_night
from grid_mappings import (
    FORMS,
    HARDWARE,
    einsum_workload,
    grid_arch,
    random_space_time,
    typed_workload,
)
from numpy.lib.stride_tricks import sliding_window_view

from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.distribution import produced
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace, TimeTile
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload
from tilewright.simulator.execution.drawn_operands import random_operands
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.execution.values.einsum_data import EinsumData
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.run.machine import Machine

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
RESOURCES = ("free bytes", "depends on", "runs over", "no instruction")
"""Words of the refusals that say which resource of the machine is missing."""


def check_names_a_resource(error: InfeasibleMapping) -> None:
    assert any(words in error.what for words in RESOURCES), error
    assert error.instead


@pytest.mark.parametrize("part", [0, *at_night(1, 2, 3)])
def test_random_mappings_run_and_no_bound_is_above_the_cycles(part: int) -> None:
    """240 random mappings; those not on the grid say why, all others run."""
    executed = Counter[str]()
    for seed in range(60 * part, 60 * (part + 1)):
        try:
            form, read = random_space_time(seed)
        except InfeasibleMapping:
            continue
        settings = ExecutionSettings(machine=MACHINES[seed % 2])
        try:
            run = execute_einsum(read, settings)
        except InfeasibleMapping as error:
            check_names_a_resource(error)
            continue
        executed[form] += 1
        assert run.counts == run.predicted
        assert run.error_share <= 1
        assert 0 < run.lower_bound_cycles <= run.cycles, (seed, form)
        assert Machine(program_of(run.plan), run.profile).cycles() == run.cycles, (seed, form)
    assert executed.total() >= 40


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(8))
def test_five_thousand_random_mappings(part: int) -> None:
    executed = 0
    for seed in range(10_000 + 800 * part, 10_000 + 800 * (part + 1)):
        try:
            read = random_space_time(seed)[1]
            run = execute_einsum(read, ExecutionSettings(machine=MACHINES[seed % 2]))
        except InfeasibleMapping:
            continue
        executed += 1
        assert run.lower_bound_cycles <= run.cycles, seed
        assert Machine(program_of(run.plan), run.profile).cycles() == run.cycles, seed
    assert executed >= 600


LINES = ((1, 24), (24, 1), (2, 32), (3, 16), (12, 12), (40, 2))
"""Columns and rows: what a bound says of the links of a line shows on long ones."""
PROFILES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon", "generic")


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 36))])
def test_no_bound_is_above_the_cycles_on_long_lines(part: int) -> None:
    rng, executed = random.Random(part), 0
    while executed < 20:
        form, bits = rng.choice(list(FORMS)), rng.choice([16, 32])
        flat = grid_arch(form, bits, *rng.choice(LINES))
        space = GridMapspace(grid_of(flat), einsum_workload(form, bits).einsums[0])
        profile = ExecutionSettings(machine=rng.choice(PROFILES)).profile(space.grid)
        families = list(space.families())
        for family in rng.sample(families, min(3, len(families))):
            mapping = space.mapping_of(rng.choice(list(space.members(family))))
            try:
                plan = plan_of(space_time(flat, space.einsum, mapping), profile.sram_reserved_bytes)
                cycles = Machine(program_of(plan), profile).cycles()
            except (InfeasibleMapping, ProgramError):
                continue
            executed += 1
            assert lower_bound(plan, profile) <= cycles, (form, bits, flat, family)


@pytest.mark.parametrize(
    ("sizes", "einsum", "persistent"),
    [
        ("M: 96, N: 1", "Z[m, n] = -A[m, n]", "Nothing"),  # no words along Y
        ("M: 1152, N: 1", "Z[m, n] = A[m, n] + B[m, n]", "A | B"),  # results alone along Y
    ],
)
def test_links_that_words_do_not_cross_are_not_counted(
    sizes: str, einsum: str, persistent: str
) -> None:
    text = (
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 32}}\n"
        f'  persistent_tensors: {persistent}\n  einsums: ["{einsum}"]\n'
    )
    workload = load_workload(load_document("w.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 96})
    flat = grid_path(arch, workload, workload.einsums[0])
    space = GridMapspace(grid_of(flat), workload.einsums[0])
    profile = ExecutionSettings().profile(space.grid)
    families = [f for f in space.families() if any(share.count == 96 for share in f.shares)]
    assert families
    for family in families[::3]:
        mapping = space.mapping_of(space.members(family)[0])
        plan = plan_of(space_time(flat, space.einsum, mapping))
        cycles = Machine(program_of(plan), profile).cycles()
        assert lower_bound(plan, profile) <= cycles, family


def first_that_fits(flat: FlatArch, space: GridMapspace) -> EinsumExecution:
    for family in space.families():
        mapping = space.mapping_of(space.members(family)[-1])
        try:
            return execute_einsum(space_time(flat, space.einsum, mapping))
        except InfeasibleMapping as error:
            check_names_a_resource(error)
    raise AssertionError("no mapping fits")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("grids", [((1, 1), (4, 2)), *at_night(((1, 3),))])
def test_every_form_runs_on_the_mapspace_of_several_grids(
    form: str, grids: tuple[tuple[int, int], ...]
) -> None:
    """The first mapping of each mapspace that fits, on three sizes of the grid."""
    einsum = einsum_workload(form).einsums[0]
    for columns, rows in grids:
        flat = grid_arch(form, 32, columns, rows)
        space = GridMapspace(grid_of(flat), einsum)
        run = first_that_fits(flat, space)
        values = reference_values(
            einsum_workload(form),
            {name: np.asarray(v, dtype=np.float64) for name, v in run.operands.items()},
        )
        assert np.allclose(run.output, values["Z"], rtol=1e-4, atol=1e-4), (columns, rows)


@pytest.mark.parametrize(
    "form", ["matrix product", "matrix times vector", *at_night("convolution of images")]
)
def test_small_integers_come_out_exactly(form: str) -> None:
    """Small whole numbers in float32 have no rounding: equal to numpy bit by bit."""
    einsum = einsum_workload(form).einsums[0]
    flat = grid_arch(form, 32, 2, 2)
    space = GridMapspace(grid_of(flat), einsum)
    rng = np.random.default_rng(5)
    for family in list(space.families())[::97]:
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
        try:
            shapes = {n: v.shape for n, v in execute_einsum(read).operands.items()}
        except InfeasibleMapping:  # too many counters in an offset
            continue
        whole = {n: rng.integers(-8, 9, s).astype(np.float32) for n, s in shapes.items()}
        expected = reference_values(
            einsum_workload(form), {n: v.astype(np.float64) for n, v in whole.items()}
        )
        assert np.array_equal(execute_einsum(read, operands=whole).output, expected["Z"])


SUMS = ("matrix times vector", "largest of rows", "sum of all", "convolution", "distance")


@pytest.mark.parametrize("form", [*SUMS[:2], *at_night(*SUMS[2:])])
def test_an_all_reduce_leaves_the_result_in_every_element(form: str) -> None:
    """Groups along one axis and both, and all schemes; counts are compared by the execution."""
    einsum, executed = einsum_workload(form).einsums[0], 0
    for columns, rows in ((4, 1), (1, 3), (3, 4)):
        flat = grid_arch(form, 32, columns, rows)
        space = GridMapspace(grid_of(flat), einsum, staying=frozenset({"Z"}))
        shared = [family for family in space.families() if family.shared]
        for family in shared[:: max(1, len(shared) // 2)]:
            for choice in space.members(family):
                assert choice.reduction.startswith("all_reduce(")
                read = space_time(flat, einsum, space.mapping_of(choice), space.staying)
                run = execute_einsum(read)
                assert run.lower_bound_cycles <= run.cycles, choice
                assert produced(read).has.all()
                tiles, sums = run.memory["Z"], run.plan.sums
                wide, tall = sums.group_columns, sums.group_rows
                heads = tiles[tall - 1 :: tall, wide - 1 :: wide]
                assert np.array_equal(tiles, heads.repeat(tall, axis=0).repeat(wide, axis=1))
                executed += 1
    assert executed >= 6


def test_values_beyond_a_padded_rank_are_zeros() -> None:
    """A convolution with zeros on all sides, against numpy.pad and numpy.einsum."""
    text = (
        "workload:\n  rank_sizes: {P: 10, Q: 7, R: 3, S: 3, C: 2, N: 2}\n  pad: {P: 1, Q: 1}\n"
        "  bits_per_value: {All: 32}\n  einsums:\n"
        '  - "Z[n, p, q] = A[c, P: p + r - 1, Q: q + s - 1] * B[n, c, r, s]"\n'
    )
    workload = load_workload(load_document("padded.yaml", text=text))
    einsum, executed = workload.einsums[0], 0
    arch = load_arch(HARDWARE).with_values({"variables.GridX": 4, "variables.GridY": 2})
    flat = grid_path(arch, workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    rng = np.random.default_rng(7)
    shapes = {"A": (2, 10, 7), "B": (2, 2, 3, 3)}
    given = {name: rng.integers(-8, 9, s).astype(np.float32) for name, s in shapes.items()}
    windows = sliding_window_view(np.pad(given["A"], [(0, 0), (1, 1), (1, 1)]), (3, 3), (1, 2))
    expected = np.einsum("cpqrs,ncrs->npq", windows, given["B"])
    for family in list(space.families()):
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
        try:
            run = execute_einsum(read, operands=given)
        except InfeasibleMapping as error:
            check_names_a_resource(error)
            continue
        executed += 1
        assert np.array_equal(run.output, expected)
    assert executed >= 20
    drawn = random_operands(einsum, seed=0)
    assert {name: values.shape for name, values in drawn.items()} == shapes
    assert load_workload(dump_workload(workload)) == workload


def test_what_to_write_for_a_sum_of_variables_in_the_output() -> None:
    """Z[m + n] = A[m] * B[n] is refused; with p for m + n it is a convolution of padded values."""
    text = (
        "workload:\n  rank_sizes: {P: 12, M: 9, N: 4}\n  pad: {M: 3}\n  bits_per_value: {All: 32}\n"
        '  einsums: ["Z[p] = A[M: p - n] * B[n]"]\n'
    )
    workload = load_workload(load_document("w.yaml", text=text))
    (einsum,) = workload.einsums
    flat = grid_path(load_arch(HARDWARE), workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    given = {"A": np.arange(9, dtype=np.float32), "B": np.array([1, -2, 3, 5], dtype=np.float32)}
    for family in list(space.families())[::9]:
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[-1]))
        expected = np.convolve(given["A"], given["B"])
        assert np.array_equal(execute_einsum(read, operands=given).output, expected)


def test_roots_and_logarithms_get_operands_that_have_them() -> None:
    """Beside numpy's nan no value is right; drawn operands stay where there is none."""
    text = (
        "workload:\n  rank_sizes: {M: 9}\n  bits_per_value: {All: 32}\n"
        '  einsums: ["Y[m] = log(X[m])", "Z[m] = sqrt(X[m]) / Y[m]"]\n'
    )
    einsums = load_workload(load_document("log.yaml", text=text)).einsums
    assert all((data.operands["X"] > 0).all() for data in map(EinsumData, einsums))
    data = EinsumData(einsums[0], {"X": np.array([1.0, -1.0] + [2.0] * 7, np.float32)})
    with pytest.raises(TilewrightError, match=r"no value at \(1,\) for these operands"):
        data.compare(np.zeros(9))


TYPES = (("i16", "i16"), ("i32", "i32"), ("f16", "f32"))
NOT_OF_INTEGERS = (
    "quotient", "root", "exponential", "logarithm", "gate", "hyperbolic tangent",
    "sum of exponentials",
)  # fmt: skip
TYPED = ("matrix product", "sum of rows", "convolution", "transpose", "largest of rows", "distance")


def typed_runs(forms: Sequence[str], types: tuple[str, str], most: int) -> set[str]:
    """The forms of which a mapping runs; others say which instruction is missing.

    The execution compares integers exactly, f16 added up in f32 with the bound of f32.
    """
    executed = set()
    for form in forms:
        workload = typed_workload(form, *types)
        einsum = workload.einsums[0]
        arch = load_arch(HARDWARE).with_values({"variables.GridX": 2, "variables.GridY": 2})
        flat = grid_path(arch, workload, einsum)
        space = GridMapspace(grid_of(flat), einsum)
        families = list(space.families())
        for family in families[:: max(1, len(families) // most)]:
            read = space_time(flat, einsum, space.mapping_of(space.members(family)[-1]))
            try:
                run = execute_einsum(read, ExecutionSettings(machine=MACHINES[len(executed) % 2]))
            except InfeasibleMapping as error:
                check_names_a_resource(error)
                continue
            executed.add(form)
            assert run.lower_bound_cycles <= run.cycles
            assert run.operands["A"].dtype == NUMPY[types[0]]
    return executed


@pytest.mark.parametrize("types", [*TYPES[:2], *at_night(*TYPES[2:])])
def test_other_number_types(types: tuple[str, str]) -> None:
    assert typed_runs(TYPED, types, 3) == set(TYPED)


@pytest.mark.nightly
@pytest.mark.parametrize("types", TYPES)
def test_all_forms_of_other_number_types(types: tuple[str, str]) -> None:
    executed = typed_runs(list(FORMS), types, 12)
    missing = () if types[0] == "f16" else NOT_OF_INTEGERS
    assert executed == set(FORMS).difference(missing)


MIXED = {
    "product with weights of f16": ("Z[m, n] = A[m, k] * B[k, n]", "B"),
    "narrowed rectifier": ("Z[m, n] = relu(A[m, n])", "Z"),
    "narrowed copy": ("Z[m, n] = A[m, n]", "Z"),
    "gate": ("Z[m, n] = A[m, n] * sigmoid(B[n])", "A | Z"),
    "largest of products": ("Z[m] = max(A[m, k] * B[k])", "A"),
    "narrowed largest of rows": ("Z[m] = max(A[m, k])", "Z"),
    "three summands": ("Z[m, n] = A[m, n] + B[m] + C[n]", "B"),
}
"""Name: Einsum, and the tensors of f16."""


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("machine", [MACHINES[0], *at_night(*MACHINES[1:])])
@pytest.mark.parametrize("sixth", [0, *at_night(*range(1, 6))])
def test_tensors_of_f16_and_f32_in_one_einsum(name: str, machine: str, sixth: int) -> None:
    text, halves = MIXED[name]
    document = (
        "workload:\n  rank_sizes: {M: 6, N: 8, K: 12}\n"
        f"  bits_per_value: {{{halves}: 16, Other: 32}}\n  einsums: ['{text}']\n"
    )
    workload = load_workload(load_document("w.yaml", text=document))
    arch = load_arch(HARDWARE).with_values({"variables.GridX": 2, "variables.GridY": 2})
    einsum, executed = workload.einsums[0], 0
    flat = grid_path(arch, workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    for family in list(space.families())[sixth::6]:
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[-1]))
        run = execute_einsum(read, ExecutionSettings(machine=machine))
        executed += 1
        assert run.lower_bound_cycles <= run.cycles
        kinds = {tensor: values.dtype.itemsize * 8 for tensor, values in run.operands.items()}
        assert all(bits == (16 if tensor in halves else 32) for tensor, bits in kinds.items())
    assert executed >= 1


def test_integers_wrap_around_as_in_numpy() -> None:
    workload = typed_workload("matrix times vector", "i16", "i16")
    flat = grid_path(load_arch(HARDWARE), workload, workload.einsums[0])
    space = GridMapspace(grid_of(flat), workload.einsums[0])
    mapping = space.mapping_of(space.members(next(space.families()))[0])
    read = space_time(flat, workload.einsums[0], mapping)
    shapes = {"A": (8, 12), "B": (12,)}
    rng = np.random.default_rng(1)
    given = {name: rng.integers(-30_000, 30_000, s).astype(np.int16) for name, s in shapes.items()}
    assert np.array_equal(execute_einsum(read, operands=given).output, given["A"] @ given["B"])


DIVISIONS = (
    (Share("X", "m", 2), Share("X", "k", 4), Share("Y", "m", 5)),
    (Share("X", "m", 2), Share("X", "k", 4), Share("Y", "m", 2), Share("Y", "k", 2)),
)


@pytest.mark.parametrize("scheme", ["chain", "y_first(chain)", "snake"])
@pytest.mark.parametrize("shares", DIVISIONS)
def test_the_bound_counts_what_goes_down_the_first_column(
    shares: tuple[Share, ...], scheme: str
) -> None:
    """A stream of the whole grid shares the links of the first column with that of a column."""
    text = (
        "workload:\n  rank_sizes: {M: 500, K: 300}\n  bits_per_value: {All: 16}\n"
        '  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
    )
    workload = load_workload(load_document("w.yaml", text=text))
    (einsum,) = workload.einsums
    flat = grid_path(load_arch(HARDWARE, variables={"GridX": 8, "GridY": 5}), workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    family = GridFamily(shares, TimeTile("k", 1), frozenset(), "B", 1)
    read = space_time(flat, einsum, space.mapping_of(GridChoice(family, scheme)))
    run = execute_einsum(read)
    down = [stream.words for stream in run.plan.streams if stream.lines != "rows"]
    assert "whole" in [stream.lines for stream in run.plan.streams]
    assert sum(down) < run.lower_bound_cycles <= run.cycles
