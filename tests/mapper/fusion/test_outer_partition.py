"""A fanout of the outermost memory: every lane has its share of everything."""

from __future__ import annotations

from itertools import product

import pytest
from fused_cases import workload_of

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.fusion.requests.outer_partition import OuterLoop, partitions_of
from tilewright.mapper.mapping.mapping import Node, Sequential, Spatial
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.request import request_of

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    spatial: [{name: d, fanout: 2}]
    tensors: {keep: "~Intermediates", may_keep: All}
    actions: [{name: read, energy: 100, throughput: 16}, {name: write, energy: 100, throughput: 16}]
  - !Memory
    name: BUF
    size: 64
    area: 0
    leak_power: 0
    tensors: {keep: "~DRAM", may_keep: All}
    actions: [{name: read, energy: 1, throughput: 64}, {name: write, energy: 1, throughput: 64}]
  - !Compute
    name: MAC
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
PAIR = ("Y[m, n] = A[m] * B[n]", "Z[m] = Y[m, n] * C[n]")
OUTER = ("Y[m] = A[m, k] * B[k]", "Z[m, n] = Y[m] * C[n]")
APART = ("Y[m] = A[m, k] * B[k]", "Z[n] = C[n, k] * B[k]")
MEET = ("Y[m] = A[m, k] * B[k]", "X[n] = D[n, k] * B[k]", "Z[m, n] = Y[m] * X[n]")
SIZES = {PAIR: {"m": 4, "n": 4}, OUTER: {"m": 4, "n": 4, "k": 4}, APART: {"m": 4, "n": 4, "k": 4},
         MEET: {"m": 4, "n": 4, "k": 2}}  # fmt: skip


def machine(old: str = "", new: str = "") -> Arch:
    assert old in ARCH
    return load_arch(ARCH.replace(old, new, 1))


def spatials(nodes: tuple[Node, ...]) -> list[Spatial]:
    """Return all spatial loops of a tree."""
    last = nodes[-1]
    inner = last.branches if isinstance(last, Sequential) else ()
    own = [node for node in nodes if isinstance(node, Spatial)]
    return own + [loop for branch in inner for loop in spatials(branch)]


# Optima of AccelForge 1.0.467 on the same files: energy at 64 bits and at 6 bits, latency.
PEER = [(PAIR, 1756, 3740, 16), (OUTER, 4116, 4116, 16), (APART, 4936, 4936, 16),
        (MEET, 3708, 4298, 32)]  # fmt: skip


@pytest.mark.parametrize(("texts", "roomy", "tight", "latency"), PEER)
def test_optima_of_accelforge(
    texts: tuple[str, ...], roomy: float, tight: float, latency: float
) -> None:
    """Where all Einsums meet; in six bits it leaves out a better mapping of the first pair."""
    work = workload_of(texts, SIZES[texts])
    values = {}
    for size, objective in product((64, 6), ("energy", "latency")):
        arch = machine("size: 64", f"size: {size}")
        result = search(arch, work, objective=objective, conventions="accelforge")
        assert result.certificate.kind == "optimal"
        incomplete = "this mapping does not compute its workload"  # lanes keep parts of sums
        assert all(note.startswith(incomplete) for note in result.notes)
        assert evaluate(arch, work, result.best.mapping, "accelforge") == result.best.score
        values[size, objective] = result.certificate.value
    assert values[64, "energy"] == roomy
    assert values[6, "energy"] == (3336 if texts == PAIR else tight)  # its evaluator: 3336, too
    assert values[64, "latency"] == values[6, "latency"] == latency


def test_lanes_stand_above_everything() -> None:
    work = workload_of(PAIR, SIZES[PAIR])
    result = search(machine(), work, objective="latency")
    first, *rest = result.best.mapping.nodes
    assert isinstance(first, Spatial)
    assert (first.component, first.tile_shape) == ("DRAM", 2)
    assert spatials(tuple(rest)) == []
    assert "outermost memory partitioned alike for all Einsums" in result.certificate.scope


def test_no_lanes_where_nothing_is_relevant_to_all_that_is_handed_on() -> None:
    """Z reads the whole of Y for each n and of X for each m; a lane has only its share of both."""
    work = workload_of(MEET, SIZES[MEET])
    assert partitions_of(request_of(machine(), work, {})) == [((), (), ())]
    for fusion in (True, False):
        result = search(machine(), work, objective="latency", fusion=fusion)
        assert spatials(result.best.mapping.nodes) == []


def test_shared_inputs_are_dealt_alike() -> None:
    """B[k] is whole in both lanes: over m for Y while over n for Z.

    To halve it leaves each lane with a part of the sums over k: only accelforge does so.
    """
    work = workload_of(APART, SIZES[APART])

    def over(variable: str) -> tuple[OuterLoop, ...]:
        return (OuterLoop("DRAM", "d", variable, 2, 2),)

    whole = {((), ()), (over("m"), over("n"))}
    assert set(partitions_of(request_of(machine(), work, {}))) == whole
    loose = partitions_of(request_of(machine(), work, {"conventions": "accelforge"}))
    assert set(loose) == {*whole, (over("k"), over("k"))}


def test_names_of_the_lanes_differ() -> None:
    texts = (PAIR[0], "Z[a] = Y[M: a, N: b] * C[b]")
    work = workload_of(texts, {**SIZES[PAIR], "a": 4, "b": 4})
    same = search(machine(), workload_of(PAIR, SIZES[PAIR]), objective="edp")
    result = search(machine(), work, objective="edp")
    assert result.certificate.value == same.certificate.value
    (loop,) = spatials(result.best.mapping.nodes)
    assert dict(loop.names) in ({"Z": "a"}, {"Z": "b"})


def test_leakage_of_all_lanes_counts() -> None:
    """Gated lanes leak as they work; the search's number is the model's, or it fails."""
    work = workload_of(PAIR, SIZES[PAIR])
    for gate, conventions in product(("", ", power_gateable: true"), ("default", "accelforge")):
        leaking = ARCH.replace("leak_power: 0", "leak_power: 3").replace(
            "fanout: 2", f"fanout: 2{gate}"
        )
        arch = load_arch(leaking)
        result = search(arch, work, conventions=conventions)
        assert result.certificate.kind == "optimal"
        assert (
            result.certificate.value
            == evaluate(arch, work, result.best.mapping, conventions).energy
        )


def test_fronts_join_all_ways_to_deal() -> None:
    work = workload_of(PAIR, SIZES[PAIR])
    result = search(machine(), work, front=("energy", "latency"))
    assert result.front_proof is not None
    assert result.front_proof.whole
    least = [min(getattr(p.score, name) for p in result.front) for name in ("energy", "latency")]
    for name, value in zip(("energy", "latency"), least, strict=True):
        assert search(machine(), work, objective=name).certificate.value == pytest.approx(value)


def test_what_is_not_modelled_is_searched_without_such_lanes() -> None:
    lanes = "  - !Container\n    name: PE\n    spatial: [{name: x, fanout: 2, min_usage: 1}]\n"
    arch = machine("  - !Compute", lanes + "  - !Compute")
    result = search(arch, workload_of(PAIR, SIZES[PAIR]))
    (note,) = result.notes
    assert "lanes partition the outermost memory, beside" in note
    assert {loop.component for loop in spatials(result.best.mapping.nodes)} <= {"PE"}
