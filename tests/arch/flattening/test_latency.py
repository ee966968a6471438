"""Latency rules: both dialects, linear pieces, and agreement with the plain evaluation."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import ExpressionError
from tilewright.arch.expressions.expressions import evaluate
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.latency import (
    ActionCosts,
    ExpressionLatency,
    LatencyPiece,
    LinearLatency,
    compile_latency,
    latency_names,
)
from tilewright.arch.flattening.scope import Layer
from tilewright.arch.spec.load import load_arch

ACTIONS = (ActionCosts("read", 1, 4.0, 0.25), ActionCosts("write", 1, 2.0, 0.5))
NAMES = {"size": 10, "inf": float("inf")}


def rule(text: str) -> LinearLatency | ExpressionLatency:
    return compile_latency(text, ACTIONS, NAMES, None)


@pytest.mark.row("001.11")
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("sum(a.n_calls / a.throughput for a in actions)", [({"read": 0.25, "write": 0.5}, 0)]),
        (
            "max(a.n_calls / a.throughput for a in actions)",
            [({"read": 0.25}, 0), ({"write": 0.5}, 0)],
        ),
        ("max(read_latency, write_latency)", [({"read": 0.25}, 0), ({"write": 0.5}, 0)]),
        ("1e-9 * (read_actions + write_actions)", [({"read": 1e-9, "write": 1e-9}, 0)]),
        ("action2latency['read'] + 3", [({"read": 0.25}, 3)]),
        ("action2latency.write", [({"write": 0.5}, 0)]),
        (
            "max(actions['read'].n_calls / 10, actions['write'].n_calls / 5, 100)",
            [({"read": 0.1}, 0), ({"write": 0.2}, 0), ({}, 100)],
        ),
        (
            "sum(a.n_calls for a in actions) / 32 / 200e6",
            [({"read": 1 / 6.4e9, "write": 1 / 6.4e9}, 0)],
        ),
        ("size * 2", [({}, 20)]),
        ("0", [({}, 0)]),
        (
            "max(read_latency, write_latency) + max(read_latency, 7)",
            [
                ({"read": 0.5}, 0),
                ({"read": 0.25}, 7),
                ({"write": 0.5, "read": 0.25}, 0),
                ({"write": 0.5}, 7),
            ],
        ),
        ("max(read_actions, read_actions * 2)", [({"read": 2}, 0)]),
    ],
)
def test_linear_rules_show_their_pieces(
    text: str, pieces: list[tuple[dict[str, float], float]]
) -> None:
    compiled = rule(text)
    assert isinstance(compiled, LinearLatency)
    found = [(dict(piece.terms), piece.constant) for piece in compiled.pieces]
    assert len(found) == len(pieces)
    for terms, constant in pieces:
        assert any(t == pytest.approx(terms) and c == pytest.approx(constant) for t, c in found), (
            terms,
            constant,
            found,
        )


@pytest.mark.parametrize(
    "text",
    [
        "min(size, sum(a.n_calls for a in actions) / 2)",
        "read_actions * write_actions",
        "ceil(read_actions / 3)",
        "read_latency if read_actions > 3 else 0",
        "(read_actions + 1) ** 2",
        "1 / read_actions",
        "read_actions - max(write_actions, 3)",
    ],
)
def test_other_rules_are_evaluated_as_written(text: str) -> None:
    compiled = rule(text)
    assert isinstance(compiled, ExpressionLatency)
    calls = {"read": 7.0, "write": 2.0}
    wanted = evaluate(text, Layer(latency_names(ACTIONS, calls), NAMES))
    assert compiled(calls) == wanted
    assert pickle.loads(pickle.dumps(compiled))(calls) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "actions['nothing'].n_calls",
        "read_latency / 0",
        "All",
        "'text'",
        "actions",
        "True",
    ],
)
def test_a_rule_that_fails_is_an_error_at_once(text: str) -> None:
    with pytest.raises(ExpressionError):
        rule(text)


def test_throughput_zero_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="no value"):
        compile_latency(
            "read_actions / actions['read'].throughput",
            (ActionCosts("read", 1, 0.0, 0.0),),
            {},
            None,
        )


_ATOMS = st.sampled_from(
    [
        "read_latency",
        "write_latency",
        "read_actions",
        "write_actions",
        "3",
        "0.5",
        "size",
        "sum(a.n_calls for a in actions)",
        "max(a.n_calls / a.throughput for a in actions)",
    ]
)
_TEXTS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda t: f"({t[0]} + {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        inner.map(lambda t: f"({t} * 3)"),
        inner.map(lambda t: f"({t} / 7)"),
        inner.map(lambda t: f"({t} - 2)"),
    ),
    max_leaves=6,
)


@given(_TEXTS, st.integers(0, 1000), st.integers(0, 1000))
def test_compiled_equals_evaluated(text: str, reads: int, writes: int) -> None:
    calls = {"read": float(reads), "write": float(writes)}
    wanted = evaluate(text, Layer(latency_names(ACTIONS, calls), NAMES))
    assert rule(text)(calls) == pytest.approx(wanted)


def test_a_piece_is_a_sum() -> None:
    assert LatencyPiece((("a", 2.0), ("b", 3.0)), 1.0)({"a": 10, "b": 1}) == 24


MACHINE = """
arch:
  nodes:
  - !Memory
    name: M
    size: 8
    area: 3
    area_scale: 2
    leak_power: 5
    leak_power_scale: 2
    n_parallel_instances: 3
    total_latency: RULE
    actions:
    - {name: read, energy: 1, throughput: 4, throughput_scale: 2}
    - {name: write, energy: 1, throughput: 4}
  - !Network
    name: N
    area: 0
    leak_power: 0
    n_parallel_instances: 3
    total_latency: actions['hop'].latency
    actions: [{name: hop, energy: 1, throughput: 4, throughput_scale: 2, latency: 5}]
  - !Compute
    name: C
    area: 0
    leak_power: 0
    actions: [{name: compute, energy: 1, latency: 2, latency_scale: 3}]
"""


@pytest.mark.row("001.51")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [  # each as accelforge 1.0.467 gives it
        ("n_parallel_instances", 3),
        ("area", 3),
        ("leak_power", 30),
        ("energy_scale + actions_scale + area_scale", 4),
        ("actions['read'].throughput_scale * actions['read'].throughput", 2 * 24),
        ("1 if name == 'M' and enabled else 2", 1),
    ],
)
def test_rules_see_the_attributes_of_their_component(text: str, seconds: float) -> None:
    flat = flatten(load_arch(MACHINE.replace("RULE", text)))[0]
    assert flat.component("M").latency({}) == seconds


def test_the_time_of_a_hop_is_its_own() -> None:
    """A latency beside a throughput is not made shorter by more throughput; alone it is one."""
    flat = flatten(load_arch(MACHINE.replace("RULE", "0")))[0]
    assert flat.component("N").latency({"hop": 7.0}) == 5
    assert flat.component("C").latency({"compute": 1.0}) == 6
