"""A component renamed for an Einsum is the one that is evaluated for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explore import at_night

from tilewright.arch.components.components import TensorHolder
from tilewright.arch.flattening import flattening, known_components
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.kinds import renamed_component as renaming
from tilewright.arch.flattening.kinds.renamed_component import renamed_component
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

ALL_KINDS = """\
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    bits_per_action: 32
    tensors: {keep: All}
    values_per_action: {input: 2, Other: 1}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Toll
    name: Link
    bits_per_value: {weight: 4, Other: 16}
    direction: {output: up, Other: up_and_down}
    tensors: {keep: All}
    actions: [{name: read, energy: 1, throughput: inf}]
  - !Container
    name: Lanes
    spatial:
    - {name: x, fanout: 4, may_reuse: input, loop_bounds: [{expression: weight.rank_variables,
       operator: ==, value: 1}]}
    - {name: y, fanout: 2, reuse: output}
  - !Network
    name: Mesh
    topology: mesh
    actions: [{name: hop, energy: 1, latency: 1}]
  - !Memory
    name: Buffer
    size: 4096
    tensors: {keep: weight, may_keep: ~Link, no_refetch_from_above: output,
      tensor_order_options: [[input, weight | output]],
      tile_shape: [{expression: input.rank_variables, operator: <=, value: 4}]}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
CHAIN = """\
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 4, A: 8, B: 8, C: 16, D: 8}
  einsums:
  - {einsum: "P[m, b] = I[m, a] * U[a, b]", renames: {input: I, weight: U, output: P}}
  - {einsum: "Q[m, c] = P[m, b] * V[b, c]", renames: {input: P, weight: V, output: Q}}
  - {einsum: "R[m, d] = Q[m, c] * W[c, d]", renames: {input: Q, weight: W, output: R}}
"""
WORKLOADS = ("bert_base", "mamba2_block", "resnet50_bottleneck", "llama3_8b_prefill")


def forget() -> None:
    for known in (flattening._LATEST, flattening._FIRST_ALIKE, known_components._KNOWN):
        known.clear()


def seen(arch, work):
    """Return what each Einsum sees, with tensor rules that are evaluated for what is kept above."""
    return [_evaluated(flat, e) for e in work.einsums for flat in flatten(arch, work.scope(e))]


def _evaluated(flat, einsum):
    above = {c.name: frozenset(einsum.tensors[:2]) for c in flat.components}
    holders = [c for c in (*flat.components, *flat.beside) if isinstance(c, TensorHolder)]
    rules = [holder.tensors.resolve(above) for holder in holders]
    plain = [
        replace(c, tensors=None) if isinstance(c, TensorHolder) else c
        for c in (*flat.components, *flat.beside)
    ]
    return plain, rules, flat.disabled, flat.gated, flat.grids


def seen_anew(arch, work):
    """Return the same, with nothing known when an Einsum is looked at."""
    alone = []
    for einsum in work.einsums:
        forget()
        alone += [_evaluated(flat, einsum) for flat in flatten(arch, work.scope(einsum))]
    return alone


@pytest.fixture
def renamed(monkeypatch):
    """The names of the components that were renamed."""
    names = []

    def noted(component, *arguments):
        names.append(component.name)
        return renamed_component(component, *arguments)

    monkeypatch.setattr(renaming, "renamed_component", noted)
    forget()
    return names


def test_every_field_of_every_kind_of_component_is_renamed(renamed):
    arch, work = load_arch(ALL_KINDS), load_workload(CHAIN)
    flats = seen(arch, work)
    assert renamed == [c.name for c in flatten(arch, work.scope("P"))[0].components] * 2
    assert flats == seen_anew(arch, work)


def test_an_expression_that_names_a_tensor_tells_einsums_apart(renamed):
    arch = load_arch(ALL_KINDS.replace("reuse: output", "reuse: output & Q"))
    work = load_workload(CHAIN)
    flats = seen(arch, work)
    assert renamed == []
    assert flats == seen_anew(arch, work)


def test_another_width_or_order_of_names_tells_einsums_apart(renamed):
    arch = load_arch(ALL_KINDS)
    for changed in (
        CHAIN.replace("{All: 8}", "{~Q: 8, Q: 4}"),
        CHAIN.replace("P[", "Z[").replace("P,", "Z,").replace(": P", ": Z"),
    ):
        work = load_workload(changed)
        forget()
        flats = seen(arch, work)
        assert renamed == []
        assert flats == seen_anew(arch, work)


@pytest.mark.parametrize("hardware", ["edge_npu", "tpu_v4i", *at_night("gpu_like", "eyeriss_like")])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_shipped_architectures_are_seen_as_without_renaming(hardware, workload, renamed):
    arch, work = (
        load_arch(path_of("hardware", hardware)),
        load_workload(path_of("workloads", workload)),
    )
    flats = seen(arch, work)
    assert flats == seen_anew(arch, work)
