"""Components built from their nodes: scales, fanouts, networks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from flat_texts import build, compute, memory

from tilewright.arch.components.components import Network
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.latency import LinearLatency
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


@pytest.mark.row("001.13", "001.25", "001.28", "001.61")
@pytest.mark.row("001.38", "001.44", "001.46", "001.47")
def test_all_scales_are_applied(change: Change, matmul: Scope) -> None:
    text = change(
        "size: 1024\n    actions:\n    - {name: read, energy: 5, throughput: 256}",
        "size: 1024\n    area: 3\n    area_scale: 2\n    leak_power: 5\n    leak_power_scale: 3\n"
        "    n_parallel_instances: 4\n    energy_scale: 7\n    throughput_scale: 11\n"
        "    actions_scale: 1.5\n    actions:\n"
        "    - {name: read, energy: 5, throughput: 256, energy_scale: 2, throughput_scale: 3}",
    )
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert buffer.area == 3 * 2 * 4
    assert buffer.leak_power == 5 * 3 * 4
    assert buffer.actions_scale == Fraction(3, 2)
    assert buffer.action("read").energy == 5 * 7 * 2
    assert buffer.action("read").throughput == 256 * 11 * 3 * 4
    assert buffer.action("write").throughput == 128 * 11 * 4
    assert isinstance(buffer.latency, LinearLatency)
    assert buffer.latency({"read": 256 * 132}) == pytest.approx(1)


def test_spatial_fields(matmul: Scope) -> None:
    (flat,) = build(
        memory("A"),
        "  - !Container\n    name: P\n    spatial:\n"
        "    - {name: X, fanout: 4, reuse: input, min_usage: 0.5, usage_scale: 2,\n"
        "       power_gateable: true}\n"
        "    - {name: Y, fanout: 2, may_reuse: ~weight, loop_bounds: [\n"
        "       {expression: ~m, operator: ==, value: 1},\n"
        "       {expression: weight, operator: product<=, value: 2 * 8}]}\n"
        "    - {name: Z, fanout: 2}\n",
        compute("C"),
        scope=matmul,
    )
    x, y, z = flat.component("P").spatial
    assert (x.may_reuse, x.reuse) == (frozenset("A"), frozenset("A"))
    assert (x.min_usage, x.usage_scale, x.power_gateable) == (0.5, 2, True)
    assert (y.may_reuse, y.reuse) == (frozenset("AZ"), frozenset())
    assert [(b.rank_variables, b.operator, b.value, b.of_tensors) for b in y.loop_bounds] == [
        (frozenset("kn"), "==", 1, False),
        (frozenset("kn"), "product<=", 16, True),
    ]
    assert z.may_reuse == frozenset("ABZ")


def test_network(matmul: Scope) -> None:
    network = (
        "  - !Network {name: N, topology: all_to_all, "
        "actions: [{name: hop, energy: 2, throughput: 8, latency: 3}]}\n"
    )
    (flat,) = build(memory("A"), network, compute("C"), scope=matmul)
    component = flat.component("N")
    assert isinstance(component, Network)
    assert component.topology == "all_to_all"
    assert component.latency is not None
    assert component.latency({"max_hops": 10, "max_link_traffic": 80}) == 30
    assert component.latency({"max_hops": 1, "max_link_traffic": 80}) == 10


def test_network_needs_the_latency_of_a_hop() -> None:
    network = "  - !Network {name: N, actions: [{name: hop, energy: 2, throughput: 8}]}\n"
    with pytest.raises(SpecError, match="has no latency"):
        build(memory("A"), network, compute("C"))
