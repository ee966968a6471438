"""Which restrictions a search names: those that leave a mapping out, and no other."""

from __future__ import annotations

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import load_workload, search
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.restrictions import (
    EINSUM_ORDER_FIXED,
    FUSION_THROUGH,
    PERFECT_FACTORS,
    UNFUSED,
    names_of,
)
from tilewright.mapper.searches.scope import (
    einsum_restrictions,
    restrictions_of_both,
    unfused_restrictions,
    with_standalone_imperfect,
)

MATMUL = """
workload:
  bounds: {{m: {size}, k: {size}, n: {size}}}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""
EINSUM = """
workload:
  rank_sizes: {{M: {size}, K: {size}, N: {size}}}
  bits_per_value: {{All: 8}}
  einsums:
  - "Z[m, n] = A[m, k] * B[k, n]"
"""
ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 10, latency: 0}, {name: write, energy: 10, latency: 0}]
INNER
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 1, latency: 1}]
"""
BUFFER = """
  - !Memory
    name: BUF
    size: 4096
    tensors: {may_keep: All}
    actions: [{name: read, energy: 1, latency: 0}, {name: write, energy: 1, latency: 0}]
"""
FANOUT = """
  - !Container
    name: PE
    spatial: [{name: X, fanout: 2}]
"""


def space(inner: str, size: int, uneven: frozenset[str] = frozenset()) -> Mapspace:
    work = load_workload(EINSUM.format(size=size))
    (einsum,) = work.einsums
    (flat,) = flatten(load_arch(ARCH.replace("INNER", inner)), work.scope(einsum))
    return Mapspace(einsum, flat, uneven=uneven)


def names(inner: str, size: int, uneven: frozenset[str] = frozenset()) -> list[str]:
    return names_of(einsum_restrictions(space(inner, size, uneven)))


def test_tiles_of_at_most_two_values_are_no_restriction() -> None:
    assert names(BUFFER, 2) == []
    assert names(BUFFER, 2, frozenset("m")) == []
    assert names(BUFFER, 3) == ["perfect factors"]
    assert names(BUFFER, 6, frozenset("mk")) == ["one imperfect loop each over k, m"]


def test_lanes_matter_below_a_second_memory_only() -> None:
    assert names(FANOUT, 4) == ["perfect factors"]
    both = ["perfect factors", "spatial loops adjacent to their fanout"]
    assert names(BUFFER + FANOUT, 4) == both
    assert names(FANOUT + BUFFER, 4) == ["perfect factors"]


def test_a_search_without_restriction_says_so() -> None:
    arch = load_arch(ARCH.replace("INNER", BUFFER))
    result = search(arch, load_workload(EINSUM.format(size=2)))
    assert result.certificate.restrictions == ()
    assert str(result.certificate) == "optimal in energy, without restriction"
    larger = search(arch, load_workload(EINSUM.format(size=4)))
    assert str(larger.certificate) == "optimal in energy; restrictions: perfect factors"


def test_unfused_mappings_keep_what_they_share_in_the_outermost_memory() -> None:
    unfused = names_of(unfused_restrictions([space(BUFFER, 4), space(BUFFER, 4)]))
    assert unfused == ["perfect factors", "no fusion: shared tensors kept whole in DRAM"]


def test_two_searches_together_say_which_restriction_is_whose() -> None:
    fused = (PERFECT_FACTORS(), EINSUM_ORDER_FIXED(), FUSION_THROUGH(memories=["BUF"]))
    uneven = (*einsum_restrictions(space(BUFFER, 6, frozenset("m"))), UNFUSED(memory="DRAM"))
    both = restrictions_of_both(fused, uneven)
    assert names_of(both) == [
        "if fused: perfect factors",
        "Einsum order fixed",
        "fusion through BUF",
        "if unfused: one imperfect loop each over m",
    ]
    mixed = names_of(with_standalone_imperfect(both))
    assert mixed[0] == "imperfect factors only in standalone Einsums"
    even = (PERFECT_FACTORS(), UNFUSED(memory="DRAM"))
    assert names_of(restrictions_of_both(fused, even))[0] == "perfect factors"
