"""The numbers of a workload as they are shown."""

from __future__ import annotations

from tilewright.dse.command.design_options import load_work
from tilewright.dse.command.files.workload_facts import (
    tensor_facts,
    workload_document,
    workload_text,
)


def test_tensors_know_their_einsums():
    facts = {each.name: each for each in tensor_facts(load_work(("resnet50_bottleneck",), {}))}
    reduce = facts["Reduce"]
    assert reduce.shape == (("P", 56), ("Q", 56), ("K", 64))  # as written, without the padding
    assert (reduce.values, reduce.bits) == (56 * 56 * 64, 56 * 56 * 64 * 8)
    assert (reduce.writer, reduce.readers, reduce.is_exchanged) == ("Reduce", ("Conv",), True)
    assert facts["X"].writer is None
    assert facts["Expand"].readers == ()


def test_the_document_counts_operations():
    document = workload_document(load_work(("mlp4",), {"BATCH": 2, "WIDTH": 4}))
    assert document["operations"] == 4 * 2 * 4 * 4
    assert document["einsums"][0]["sizes"] == {"m": 2, "b": 4, "a": 4}
    assert document["einsums"][0]["einsum"] == "H1[m, b] = X[m, a] * W1[a, b]"


def test_the_text_has_both_tables_and_totals():
    text = workload_text(load_work(("mlp4",), {"BATCH": 1024}))
    assert "H1[m, b] = X[m, a] * W1[a, b]" in text
    assert "1024 × 1024" in text
    # X and Y, four weights: six tensors of 1 MiB; H1 to H3 between the Einsums
    assert "inputs and outputs: 6 MiB; exchanged between Einsums: 3 MiB" in text
    assert "4 Einsums, 4.295 G operations" in text
