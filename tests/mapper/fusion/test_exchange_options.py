"""The memories in which Einsums may exchange tensors."""

from __future__ import annotations

import pytest
from deep_cases import memory
from fused_cases import workload_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.boundary.exchange_options import memories_of_tensors
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath
from tilewright.mapper.mapping.mapping import Spatial
from tilewright.mapper.searches.api import search

CHAIN = ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]")
WORK = workload_of(CHAIN, {"m": 4, "k": 2, "n": 2, "p": 2})


def design(upper: str, lanes: int, lower: str = "keep: Nothing, may_keep: All") -> Arch:
    """Return DRAM, BUF, lanes and REG."""
    return load_arch(
        "arch:\n  nodes:\n"
        + memory("DRAM", "inf", 'keep: "~Intermediates", may_keep: All')
        + memory("BUF", 64, upper)
        + f"  - !Container\n    name: ROW\n    spatial: [{{name: x, fanout: {lanes}}}]\n"
        + memory("REG", 16, lower)
        + "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )


def places(arch: Arch, tensor: str, deeper: bool = True) -> tuple[str, ...]:
    paths = [EinsumPath(e, flat) for e in WORK.einsums for flat in flatten(arch, WORK.scope(e))]
    return memories_of_tensors(paths, deeper)[tensor]


@pytest.mark.parametrize(
    ("upper", "lower", "wanted"),
    [
        ("keep: Nothing, may_keep: All", "keep: Nothing, may_keep: All", ("BUF", "REG")),
        ("keep: All", "keep: Nothing, may_keep: All", ("BUF",)),  # none may pass it by
        ("keep: Nothing, may_keep: Nothing", "keep: Nothing, may_keep: All", ("REG",)),
        ("keep: Nothing, may_keep: output", "keep: Nothing, may_keep: All", ("REG",)),  # not read
        ("keep: Nothing, may_keep: All", "keep: Nothing, may_keep: weight", ("BUF",)),
        ("keep: weight, may_keep: Nothing", "keep: ~BUF, may_keep: All", ("REG",)),
        ("keep: Nothing, may_keep: All", "keep: ~BUF, back: Intermediates", ("REG",)),
    ],
)
def test_all_users_must_be_allowed_to_keep_it(
    upper: str, lower: str, wanted: tuple[str, ...]
) -> None:
    assert places(design(upper, 2, lower), "Y") == wanted
    assert places(design(upper, 2, lower), "Y", deeper=False) == wanted[: wanted[0] == "BUF"]
    assert places(design(upper, 2, lower), "A") == ()  # one Einsum uses it


def test_many_ways_to_deal_lanes_count_where_a_memory_above_will_do() -> None:
    """Four lanes over m, k, n or p: more than four ways, but no more than 200."""
    assert places(design("keep: Nothing, may_keep: All", 4), "Y") == ("BUF",)
    assert places(design("keep: Nothing, may_keep: Nothing", 4), "Y") == ("REG",)


def test_exchange_below_lanes_under_a_memory_that_keeps_nothing() -> None:
    arch = design("keep: Nothing, may_keep: Nothing", 4)
    found = search(arch, WORK, objective="latency")
    assert not found.notes
    assert found.on_chip == ("Y",)
    assert "fusion through REG" in found.certificate.scope
    assert "shared spatial loops only above REG" in found.certificate.scope
    assert any(isinstance(node, Spatial) for node in found.best.mapping.nodes)
    assert found.best.score.energy < search(arch, WORK, fusion=False).best.score.energy
