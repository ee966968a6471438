"""Workloads printed back, and drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_workload import MIXED
from public_variables import VARIABLES

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.printing import dump_yaml
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload
from tilewright.mapper.workload.workload_render import cascade_mermaid, cascade_text

# Pieces that other files include; by themselves they break a rule or are no workload.
PARTS = {
    "dense_two_layer.yaml",
    "gated_linear_unit.yaml",
    "mixture_of_experts_shared.yaml",
}


def variables_of(decode: bool) -> dict[str, object]:
    return {**VARIABLES, "DECODE": decode, "N_NEW_TOKENS": 1 if decode else 16}


@pytest.mark.parametrize(
    ("decode", "part"),
    [(False, 9), (True, 1), pytest.param(False, 1, marks=pytest.mark.nightly)],
)
def test_every_public_workload_prints_back(shared_data: Path, decode: bool, part: int) -> None:
    """In each run every ninth one for a prefill, all for a decoding step."""
    printed = 0
    for path in sorted((shared_data / "accelforge/workloads").rglob("*.yaml"))[::part]:
        variables = variables_of(decode)
        document = load_document(path, variables=variables)
        if decode and document.data == load_document(path, variables=variables_of(False)).data:
            printed += path.name not in PARTS and not path.name.startswith("_")
            continue  # nothing in it depends on that
        text = dump_yaml(document.data)
        if document.data is not None:
            assert load_document("printed.yaml", text=text).data == document.data, path
        if path.name in PARTS:
            continue
        if path.name.startswith("_"):  # a family file: what includes it gives its names
            continue
        workload = load_workload(document)
        dumped = dump_workload(workload)
        again = load_workload(dumped)
        assert again == workload, path
        assert dump_workload(again) == dumped
        assert cascade_text(workload).count("\n") > 3 * len(workload.einsums)
        assert cascade_mermaid(workload).startswith("flowchart TD\n")
        printed += 1
    assert printed >= 27 // part - 1


def test_every_public_mapping_prints_back(shared_data: Path) -> None:
    found = sorted((shared_data / "accelforge/mappings").glob("*.yaml"))
    assert len(found) >= 7
    for path in found:
        mapping = load_mapping(path, variables=VARIABLES)
        assert load_mapping(dump_mapping(mapping)) == mapping


def test_all_that_a_workload_can_say_is_printed() -> None:
    workload = load_workload(MIXED)
    text = dump_workload(workload)
    again = load_workload(text)
    assert again == workload
    assert again.einsum("Add").n_instances == 6
    assert again.einsum("Add").combine == "+"
    assert again.scope("Z").rank_sets["window"] == {"r"}
    assert set(again.einsum("Z").renames) == {"left", "all_out"}


TERMS = st.lists(
    st.tuples(st.sampled_from("pqr"), st.integers(1, 9)),
    min_size=1,
    max_size=3,
    unique_by=lambda t: t[0],
)


@given(
    TERMS,
    st.integers(0, 20),
    st.sampled_from([1, 8, 4.5, 0.1, "1/3", "2**40"]),
    st.integers(1, 3),
    st.booleans(),
)
def test_random_workloads_print_back(
    terms: list[tuple[str, int]], constant: int, bits: object, times: int, add: bool
) -> None:
    form = " + ".join(f"{factor}*{name}" for name, factor in terms)
    text = f"""
workload:
  rank_sizes: {{P: 4, Q: 3, R: 5}}
  bits_per_value: {{A: {bits}, Other: 8}}
  n_instances: {times}
  einsums:
  - "Z[p, q, r] = A[H: {form} + {constant}] {"+" if add else "*"} B[p, q, r]"
"""
    workload = load_workload(text)
    assert load_workload(dump_workload(workload)) == workload


@pytest.mark.parametrize("index", ["p + r - 2", "p - 1", "p + r", "p + 2*r - 2"])
def test_padding_at_either_end_prints_back(index: str) -> None:
    """A window that ends with its position (`p + r - 2`) leaves its rank at the first value."""
    workload = load_workload(
        "workload:\n  rank_sizes: {P: 6, R: 3}\n  pad: {P: 4}\n  bits_per_value: {All: 8}\n"
        f'  einsums: ["Z[P: p] = A[P: {index}] * B[r]"]\n'
    )
    (access, _) = workload.einsums[0].inputs
    assert dict(access.padded) == {"P": 6}
    assert load_workload(dump_workload(workload)) == workload
