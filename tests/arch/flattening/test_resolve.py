"""Expressions of a component as numbers, counts, flags and sets."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tilewright.arch.components.components import Memory
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


def failure(text: str, scope: Scope | None = None) -> SpecError:
    with pytest.raises(SpecError) as caught:
        flatten(load_arch(text), scope)
    return caught.value


@pytest.mark.parametrize("fanout", ["0", "-4", "2.5", "inf", "1 / 3", "[2]", "true"])
def test_a_fanout_is_a_whole_number(change: Change, fanout: str) -> None:
    text = change("size: 1024", f"size: 1024\n    spatial: [{{name: X, fanout: {fanout}}}]")
    error = failure(text)
    assert error.where is not None
    assert error.where.line == 13


def test_infinity_and_nothing(small: str, matmul: Scope) -> None:
    component = flatten(load_arch(small), matmul)[0].component("DRAM")
    assert isinstance(component, Memory)
    assert math.isinf(component.size)


def test_without_an_einsum_what_needs_one_stays_open(small: str, matmul: Scope) -> None:
    text = small.replace("size: 1024", "size: weight.bits_per_value\n    area: len(All)").replace(
        "name: MAC", "name: MAC\n    total_latency: len(All) * compute_actions"
    )
    flat = flatten(load_arch(text))[0]
    buffer = flat.component("BUF")
    assert isinstance(buffer, Memory)
    assert math.isnan(buffer.size)
    assert set(flat.unresolved) >= {"BUF.size", "BUF.area", "MAC.total_latency"}
    with pytest.raises(SpecError, match="the area of BUF depends on the Einsum"):
        _ = flat.total_area
    with pytest.raises(SpecError, match="depends on the Einsum"):
        buffer.tensors.resolve({})
    assert flat.compute.latency is not None
    with pytest.raises(SpecError, match="depends on the Einsum"):
        flat.compute.latency({"compute": 1})
    solid = flatten(load_arch(text), matmul)[0]
    assert (solid.unresolved, solid.total_area) == ((), 3)


def test_a_time_waits_for_a_throughput_that_needs_an_einsum(change: Change, matmul: Scope) -> None:
    text = change("energy: 0.5, throughput: 1", "energy: 0.5, throughput: 2 * len(Outputs)")
    flat = flatten(load_arch(text))[0]
    assert "MAC.actions[0].throughput" in flat.unresolved
    assert flat.compute.latency is not None
    with pytest.raises(SpecError, match="the latency of MAC depends on the Einsum"):
        flat.compute.latency({"compute": 1})
    latency = flatten(load_arch(text), matmul)[0].compute.latency
    assert latency is not None
    assert latency({"compute": 1}) == 0.5


def test_kept_names_outside_of_tensors(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 8 * len(DRAM.tensors) + len(Above)")
    flat = flatten(load_arch(text), matmul, {"DRAM": frozenset("AB")})[0]
    buffer = flat.component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.size == 18
