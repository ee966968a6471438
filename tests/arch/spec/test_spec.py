"""The models of both dialects of the architecture file."""

from __future__ import annotations

import pytest

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch


def test_the_older_dialect_means_the_same(matmul: Scope) -> None:
    new = """\
arch:
  nodes:
  - !Memory
    name: M
    size: 64
    total_latency: max(a.n_calls / a.throughput for a in actions)
    bits_per_value: {weight: 2 * weight.bits_per_value}
    actions:
    - {name: read, energy: 1, throughput: 8 * 2e9}
    - {name: write, energy: 1, throughput: inf}
  - !Container
    name: P
    spatial: [{name: X, fanout: 4}]
  - !Compute
    name: C
    actions: [{name: compute, energy: 1, throughput: 1e9 / 2}]
"""
    old = """\
arch:
  nodes:
  - !Memory
    name: M
    size: 64
    total_latency: max(read_latency, write_latency)
    bits_per_value_scale: {weight: 2}
    actions:
    - {name: read, energy: 1, latency: 1 / (8 * 2e9)}
    - {name: write, energy: 1, latency: 0}
  - !Fanout
    name: P
    spatial: [{name: X, fanout: 4}]
  - !Compute
    name: C
    latency_scale: 2
    actions: [{name: compute, energy: 1, latency: 1e-9}]
"""
    ours, theirs = (flatten(load_arch(text), matmul)[0] for text in (new, old))
    calls = {"read": 7e9, "write": 3.0, "compute": 5e8}
    for left, right in zip(ours.components, theirs.components, strict=True):
        assert type(left) is type(right)
        assert left.own_fanout == right.own_fanout
        assert [a.values_per_action for a in left.actions] == [
            a.values_per_action for a in right.actions
        ]
        assert [a.throughput for a in left.actions] == pytest.approx(
            [a.throughput for a in right.actions]
        )
        if left.latency is not None and right.latency is not None:
            assert left.latency(calls) == pytest.approx(right.latency(calls))
