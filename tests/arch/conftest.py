"""Scopes built by hand, and a small architecture to change."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tilewright.arch.components.einsum_scope import Scope

SMALL = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    actions:
    - {name: read, energy: 100, throughput: 64}
    - {name: write, energy: 110, throughput: 32}
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: BUF
    size: 1024
    actions:
    - {name: read, energy: 5, throughput: 256}
    - {name: write, energy: 6, throughput: 128}
    tensors: {keep: ~DRAM, may_keep: All}
  - !Compute
    name: MAC
    actions:
    - {name: compute, energy: 0.5, throughput: 1}
"""


@pytest.fixture
def small() -> str:
    """DRAM, BUF, MAC."""
    return SMALL


@pytest.fixture
def change() -> Callable[[str, str], str]:
    """Replace one piece of SMALL, which must be there."""

    def replace(old: str, new: str) -> str:
        assert old in SMALL
        return SMALL.replace(old, new, 1)

    return replace


@pytest.fixture(scope="session")
def matmul() -> Scope:
    """Z[m, n] = A[m, k] * B[k, n], eight bits each; T belongs to another Einsum."""
    names = frozenset
    return Scope(
        einsum="Z",
        tensors=("A", "B", "Z"),
        rank_variables=("m", "k", "n"),
        sets={
            "All": names({"A", "B", "Z"}),
            "Tensors": names({"A", "B", "Z"}),
            "Nothing": names(),
            "Inputs": names({"A", "B"}),
            "Outputs": names({"Z"}),
            "Intermediates": names({"Z"}),
            "Shared": names(),
            "Persistent": names(),
            "input": names({"A"}),
            "weight": names({"B"}),
            "output": names({"Z"}),
            "T": names(),
        },
        rank_variables_of={"A": names("mk"), "B": names("kn"), "Z": names("mn")},
        bits_per_value={"A": Fraction(8), "B": Fraction(4), "Z": Fraction(16)},
    )


@pytest.fixture(scope="session")
def elementwise() -> Scope:
    """Y[m] = X[m]: two tensors, no weight."""
    names = frozenset
    return Scope(
        einsum="Y",
        tensors=("X", "Y"),
        rank_variables=("m",),
        sets={
            "All": names("XY"),
            "Inputs": names("X"),
            "Outputs": names("Y"),
            "Intermediates": names(),
            "input": names("X"),
            "weight": names(),
            "output": names("Y"),
        },
        rank_variables_of={"X": names("m"), "Y": names("m")},
        bits_per_value={"X": Fraction(8), "Y": Fraction(8)},
    )
