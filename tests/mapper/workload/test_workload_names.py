"""Sets, renames, widths and instances of Einsums."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import pytest

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def load(einsums: str, sizes: str = "M: 4, N: 8, K: 6", more: str = "") -> Workload:
    lines = "".join(f"  - {line.strip()}\n" for line in einsums.strip().splitlines())
    return load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n{more}"
        f"  einsums:\n{lines}"
    )


def test_names_of_an_einsum() -> None:
    workload = load('"Y[m, n] = A[m, k] * B[k, n]"\n"Z[m] = Y[m, n]"')
    sets = workload.scope("Y").sets
    assert sets["Inputs"] == {"A", "B"}
    assert sets["Outputs"] == sets["Intermediates"] == sets["Shared"] == {"Y"}
    assert sets["Z"] == frozenset()
    assert workload.scope("Z").sets["input"] == {"Y"}


def _chain(count: int) -> int:
    """Return the bytes that a chain of so many Einsums takes when it is loaded."""
    lines = "".join(f'  - "T{n + 1}[m] = T{n}[m] * W{n}[m]"\n' for n in range(count))
    text = f"workload:\n  rank_sizes: {{M: 4}}\n  bits_per_value: {{All: 8}}\n  einsums:\n{lines}"
    tracemalloc.start()
    workload = load_workload(text)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(workload.einsums) == count
    return size


def test_tensors_of_other_einsums_take_no_memory() -> None:
    """A chain of a thousand Einsums has two million of them."""
    _chain(2)
    assert _chain(160) < 5 * _chain(40)
    workload = load('"Y[m, n] = A[m, k] * B[k, n]"\n"Z[m] = Y[m, n]"')
    assert workload.scope("Y").sets["Z"] == workload.scope("Z").sets["A"] == set()
    assert "k" in workload.scope("Z").rank_sets
    assert "k" not in workload.scope("Y").rank_sets
    assert workload.scope("Z").rank_variables == ("m", "n")


def test_renames_replace_each_other() -> None:
    text = """
renames:
  einsums:
  - name: default
    tensor_accesses:
    - {name: input, source: Inputs & Intermediates, expected_count: 1}
    - {name: output, source: Outputs, expected_count: 1}
    - {name: weight, source: ~(input | output), expected_count: 1}
workload:
  rank_sizes: {M: 4, N: 8, K: 6}
  bits_per_value: {weight: 4, Other: 8}
  persistent_tensors: weight
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A}}
"""
    einsum = load_workload(text).einsum("Z")
    assert einsum.renames == {"input": {"A"}, "output": {"Z"}, "weight": {"B"}}
    assert einsum.access("B").bits_per_value == Fraction(4)
    assert einsum.access("B").persistent
    assert einsum.access("A").bits_per_value == Fraction(8)
    with pytest.raises(WorkloadError, match="stands for 0 names"):
        load_workload(text.replace(", renames: {input: A}", ""))


PRODUCT = "output[m, n] = input[m, k] * weight[k, n]"


def test_a_tensor_with_the_name_of_a_default_rename_for_something_else_is_refused() -> None:
    """`keep: weight` kept both operands, and `keep: input` none."""
    with pytest.raises(WorkloadError) as caught:
        load(f'"{PRODUCT}"')
    assert caught.value.what == (
        "Einsum output: input is one of its tensors, but as a rename it stands for no tensor;"
        " weight is one of its tensors, but as a rename it stands for input, weight"
    )
    assert caught.value.instead == (
        "renames: {input: input, weight: weight} in this Einsum, or other names for the tensors"
    )


def test_what_is_to_be_written_instead_gives_each_tensor_its_name() -> None:
    renames = "{input: input, weight: weight}"
    sets = load(f'{{einsum: "{PRODUCT}", renames: {renames}}}').scope("output").sets
    assert [sets[name] for name in ("input", "weight", "output")] == [
        {"input"}, {"weight"}, {"output"},
    ]  # fmt: skip


def test_a_tensor_with_the_name_of_a_default_rename_for_it_is_taken() -> None:
    sets = load('"T[m, k] = A[m, k]"\n"output[m, n] = T[m, k] * weight[k, n]"').scope("output").sets
    assert (sets["input"], sets["weight"], sets["output"]) == ({"T"}, {"weight"}, {"output"})


def test_a_rename_of_ones_own_for_another_tensor_than_that_of_its_name_is_refused() -> None:
    with pytest.raises(WorkloadError, match=r"B is one of its tensors, .* stands for A"):
        load('{einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {B: A}}')


RANK_RENAMES = """
renames:
  einsums:
  - name: default
    tensor_accesses: {input: Inputs, output: Outputs, weight: Nothing}
    rank_variables:
    - {name: reduced, source: ~Outputs.rank_variables}
    - {name: kept, source: ~reduced, expected_count: 2}
  - name: Y
    rank_variables: {reduced: c}
workload:
  rank_sizes: {M: 4, N: 8, K: 6, C: 2}
  bits_per_value: {All: 8}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]", "Y[m, n] = Z[m, n] * C[c]"]
"""


def test_renames_are_expressions_of_each_other_in_any_order() -> None:
    einsum = '{einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {%s}}'
    sets = load(einsum % "weight: ~(input | output), input: A").scope("Z").sets
    assert (sets["weight"], sets["output"]) == ({"B"}, {"Z"})
    with pytest.raises(WorkloadError, match="rename weight: nothing is called output here"):
        load(einsum % "input: A, weight: ~(input | output), output: All - input - weight")


def test_renames_of_rank_variables_are_names_of_the_architecture() -> None:
    workload = load_workload(RANK_RENAMES)
    assert workload.scope("Z").rank_sets == {"c": set(), "reduced": {"k"}, "kept": {"m", "n"}}
    assert workload.scope("Y").rank_sets == {"k": set(), "reduced": {"c"}, "kept": {"m", "n"}}
    arch = load_arch(
        """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, component_class: Dummy}
  - !Compute
    name: MAC
    component_class: Dummy
    spatial:
    - name: x
      fanout: 4
      loop_bounds:
      - {expression: reduced, operator: ==, value: 1}
      - {expression: ~k, operator: <=, value: 2}
"""
    )
    limits = {
        name: [sorted(b.rank_variables) for b in flat.compute.spatial[0].loop_bounds]
        for name in ("Z", "Y")
        for flat in flatten(arch, workload.scope(name))
    }
    assert limits == {"Z": [["k"], ["m", "n"]], "Y": [["c"], ["c", "m", "n"]]}


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("expected_count: 2", "expected_count: 3", "stands for 2 names"),
        ("{reduced: c}", "{reduced: q}", "rename reduced"),
        ("{reduced: c}", "{m: c}", "already the name"),
        ("{reduced: c}", "{Z: c}", "already the name"),
    ],
)
def test_bad_renames_of_rank_variables_are_refused(old: str, new: str, what: str) -> None:
    assert old in RANK_RENAMES
    with pytest.raises(WorkloadError, match=what) as caught:
        load_workload(RANK_RENAMES.replace(old, new))
    assert caught.value.where is not None
    assert caught.value.where.line is not None


def test_instances_multiply() -> None:
    einsums = '{einsum: "Z[m] = A[m]", n_instances: 3}'
    assert load(einsums, more="  n_instances: 5\n").einsum("Z").n_instances == 15


def test_widths_must_be_given_once() -> None:
    text = "workload: {rank_sizes: {M: 4}, bits_per_value: {%s}, einsums: ['Z[m] = A[m]']}\n"
    with pytest.raises(WorkloadError, match="tensor A has no bits_per_value"):
        load_workload(text % "Z: 8")
    with pytest.raises(WorkloadError, match="both All and Z hold tensor Z"):
        load_workload(text % "All: 8, Z: 4")
