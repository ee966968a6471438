"""Reading workloads: notation, bounds, names, agreement between Einsums."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.einsum import Affine
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.notation import parse_affine, parse_einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def load(einsums: str, sizes: str = "M: 4, N: 8, K: 6", more: str = "") -> Workload:
    lines = "".join(f"  - {line.strip()}\n" for line in einsums.strip().splitlines())
    return load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n{more}"
        f"  einsums:\n{lines}"
    )


def test_concise_and_long_form_mean_the_same() -> None:
    concise = load('"Z[m, n] = A[m, k] * B[k, n]"').einsum("Z")
    long = load_workload(
        """
workload:
  rank_sizes: {M: 4, N: 8, K: 6}
  bits_per_value: {All: 8}
  einsums:
  - name: Z
    tensor_accesses:
    - {name: Z, projection: [m, n], output: true}
    - {name: A, projection: {M: m, K: k}}
    - {name: B, projection: [k, n]}
"""
    ).einsum("Z")
    assert long == concise
    assert concise.bounds == {"m": 4, "n": 8, "k": 6}
    assert concise.operations == 4 * 8 * 6


@pytest.mark.parametrize(
    ("text", "terms", "constant"),
    [
        ("p", (("p", 1),), 0),
        ("2*p + r", (("p", 2), ("r", 1)), 0),
        ("p * 2 + 3*r - 1", (("p", 2), ("r", 3)), -1),
        ("p + p", (("p", 2),), 0),
        ("-(p - q)", (("p", -1), ("q", 1)), 0),
    ],
)
def test_affine_forms(text: str, terms: tuple[tuple[str, int], ...], constant: int) -> None:
    assert parse_affine(text) == Affine(terms, constant)


@pytest.mark.parametrize(
    "text", ["p * q", "p / 2", "f(p)", "p[0]", "__import__('os')", "", "1.5*p"]
)
def test_what_is_not_affine_is_refused(text: str) -> None:
    with pytest.raises(WorkloadError, match="sum of rank variables"):
        parse_affine(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Z[m]", "is `output = product of inputs`"),
        ("Z[m] = A[m] - B[m]", "only \\* or \\+"),
        ("Z[m] = A[m] * B[m] + C[m]", "all tensors are multiplied, or all are added"),
        ("Z[m] * Y[m] = A[m]", "one tensor on the left"),
        ("Z[m] = A[m] * ", "no tensor with its indices"),
        ("Z[m] = A", "no tensor with its indices"),
        ("Z[] = A[k]", "has no rank"),
        ("Z[M] = A[m]", "a rank variable"),
        ("Z[m] = A[p + r]", "a rank variable"),
        ("Z[m] = A[h: m]", "begins with a capital letter"),
        ("Z[m, m] = A[m]", "stands twice"),
    ],
)
def test_what_is_no_einsum_is_refused(text: str, what: str) -> None:
    with pytest.raises(WorkloadError, match=what):
        parse_einsum(text)


def test_sums_keep_their_sign() -> None:
    assert load('"Z[m] = A[m] + B[m]"').einsum("Z").combine == "+"


def test_convolution_takes_what_the_rank_leaves() -> None:
    """H has 10 positions; the space is a box, so p gets what is left when r is at 0."""
    einsum = load('"O[p] = I[H: p + r] * W[r]"', "H: 10, R: 3").einsum("O")
    assert einsum.bounds == {"p": 10, "r": 3}
    narrow = load('"O[p] = I[H: 2*p + r] * W[r]"', "H: 10, R: 3").einsum("O")
    assert narrow.bounds == {"p": 5, "r": 3}


def test_written_bounds_shift_and_cut() -> None:
    shape = "  iteration_space_shape: {a: 2 <= a < 10}\n"
    einsum = load('"Z[a] = A[H: 3*a]"', "X: 1", shape).einsum("Z")
    assert einsum.bounds == {"a": 8}
    assert einsum.access("A").projection[0][1] == Affine((("a", 3),), 6)
    both = load('"Z[a, b] = A[a, b]"', "B: 7", "  iteration_space_shape: [0 <= a < 5 and b <= 3]\n")
    assert both.einsum("Z").bounds == {"a": 5, "b": 4}


def test_sizes_of_ranks_may_use_each_other() -> None:
    assert load('"Z[m] = A[m]"', "M: ceil(64 * 8 / X), X: 3").einsum("Z").bounds == {"m": 171}


def test_names_of_an_einsum() -> None:
    workload = load('"Y[m, n] = A[m, k] * B[k, n]"\n"Z[m] = Y[m, n]"')
    sets = workload.scope("Y").sets
    assert sets["Inputs"] == {"A", "B"}
    assert sets["Outputs"] == sets["Intermediates"] == sets["Shared"] == {"Y"}
    assert sets["Z"] == frozenset()
    assert workload.scope("Z").sets["input"] == {"Y"}
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


@pytest.mark.parametrize("size", [".nan", ".inf", "1.5", "true", "0", "M", "10**400 - 10**400 / 1"])
def test_sizes_are_whole_numbers(size: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        load('"Z[m] = A[m]"', sizes=f"M: {size}")
    assert caught.value.where is not None
    assert caught.value.where.line == 2


def test_sizes_end_before_floats_do() -> None:
    """Counts are exact, but what they cost is a float."""
    names = [f"v{number}" for number in range(6)]
    for einsum, sizes in (
        (f"Z[v0] = A[{', '.join(names)}]", ", ".join(f"{n.upper()}: 10**18" for n in names)),
        (f"Z[m] = A[X: {'9' * 300}*m]", "M: 4"),
    ):
        with pytest.raises(WorkloadError, match="too large") as caught:
            load(f'"{einsum}"', sizes=sizes)
        assert caught.value.where is not None


def test_instances_multiply() -> None:
    einsums = '{einsum: "Z[m] = A[m]", n_instances: 3}'
    assert load(einsums, more="  n_instances: 5\n").einsum("Z").n_instances == 15


@pytest.mark.parametrize(
    ("einsums", "what"),
    [
        ('"Y[m] = A[m]"\n"Y[m] = B[m]"', "two Einsums are called Y"),
        ('"Y[m] = A[m]"\n"Z[n] = A[n]"', "tensor A has ranks M in Einsum Y, but N in Einsum Z"),
        ('"Z[m] = Y[m]"\n"Y[m] = A[m]"', "reads tensor Y before Einsum Y writes it"),
        ('"Z[m] = A[m] * A[m]"', "touches tensor A twice"),
        ('"Z[q] = A[q]"', "rank variable q has no bound"),
        ('{einsum: "Total[m] = A[m]"}', "reserved"),
        ('{einsum: "Z[m] = A[m] * B[m]", is_copy_operation: true}', "exactly one input"),
        (
            '{name: Y, einsum: "W[m] = A[m]"}\n{name: X, einsum: "W[m] = B[m]"}',
            "Einsums Y and X both write tensor W",
        ),
        (
            '"Y[m] = A[m]"\n{einsum: "Z[m] = Y[m]", rank_sizes: {M: 3}}',
            "rank variable m runs from 0 to 3 in Einsum Y, but from 0 to 2 in Einsum Z",
        ),
        ('{einsum: "Z[m] = A[m]", renames: {weight: C}}', "rename weight"),
        ("{name: Z}", "needs tensors"),
    ],
)
def test_contradictions_are_refused(einsums: str, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        load(einsums)


def test_a_contradiction_names_both_places() -> None:
    with pytest.raises(WorkloadError) as caught:
        load('"Y[m] = A[m]"\n"Z[n] = A[n]"')
    assert "<text>:6:5" in str(caught.value)
    assert "make it agree with <text>:5:5" in str(caught.value)


def test_widths_must_be_given_once() -> None:
    text = "workload: {rank_sizes: {M: 4}, bits_per_value: {%s}, einsums: ['Z[m] = A[m]']}\n"
    with pytest.raises(WorkloadError, match="tensor A has no bits_per_value"):
        load_workload(text % "Z: 8")
    with pytest.raises(WorkloadError, match="both All and Z hold tensor Z"):
        load_workload(text % "All: 8, Z: 4")


EXAMPLES = {
    "basic/matvecs.yaml": 2,
    "basic/three_matmuls_annotated.yaml": 3,
    "basic/matmuls.yaml": 2,
    "cnns/mobilenet/mobilenet_28.yaml": 6,
    "compute_in_memory/resnet18.yaml": 21,
    "compute_in_memory/vision_transformer.yaml": 98,
    "transformers/gpt/gpt3_6.7B.yaml": 10,
    "transformers/deepseek/deepseek_v3_671B.yaml": 21,
    "transformers/qwen/qwen3_30B_A3B.yaml": 14,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_public_workloads_load(shared_data: Path, name: str) -> None:
    variables = {
        "BATCH_SIZE": 1, "DECODE": False, "N_NEW_TOKENS": 64, "N_CACHED_TOKENS": 128,
        "N_EINSUMS": 2, "M": 64, "KN": 64,
    }  # fmt: skip
    path = shared_data / "accelforge" / "workloads" / name
    workload = load_workload(path, variables=variables)
    assert len(workload.einsums) == EXAMPLES[name]
    for einsum in workload.einsums:
        assert einsum.operations > 0
        assert workload.scope(einsum).einsum == einsum.name
