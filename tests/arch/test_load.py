"""Architecture files: the tree, both dialects, errors with places, printing back, overrides."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import pytest

from tilewright.arch.components.components import Memory, Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch

Change = Callable[[str, str], str]


def failure(text: str, scope: Scope | None = None) -> SpecError:
    with pytest.raises(SpecError) as caught:
        flatten(load_arch(text), scope)
    return caught.value


def test_the_tree_keeps_what_was_written(small: str) -> None:
    arch = load_arch(small)
    assert [(node.tag, node.name) for node in arch.leaves()] == [
        ("Memory", "DRAM"),
        ("Memory", "BUF"),
        ("Compute", "MAC"),
    ]
    assert arch.where(arch.node("BUF"), "size").line == 12


@pytest.mark.parametrize(
    ("old", "new", "what", "line", "instead"),
    [
        (
            "size: 1024",
            "siez: 1024",
            "unknown field siez (and 1 more problem in this file)",
            12,
            "did you mean size?",
        ),
        ("size: 1024", "size: [1]", "this must be a number or an expression", 12, None),
        ("size: 1024", "size: -1024", "size must not be negative", 12, "write 0 or more"),
        ("size: 1024", "size: 4 - 5", "size must not be negative", 12, "write 0 or more"),
        ("size: 1024", "size: nan", "size is not a number", 12, None),
        ("size: 1024", "size: 'big'", "nothing is called big here", 12, None),
        ("size: 1024", "size: true", "size must be a number", 12, None),
        (
            "energy: 5,",
            "energy: -5,",
            "actions[0].energy must not be negative",
            14,
            "write 0 or more",
        ),
        ("energy: 5,", "", "the action read of BUF has no energy", 14, None),
        (", throughput: 256", "", "the action read of BUF has no throughput", 14, None),
        (
            "name: read, energy: 5",
            "name: raed, energy: 5",
            "a Memory has no action raed",
            14,
            "did you mean read?",
        ),
        (
            "    - {name: write, energy: 6, throughput: 128}\n",
            "",
            "BUF has no action write",
            14,
            None,
        ),
        ("!Compute", "!Compte", "unknown kind of node !Compte", 17, "did you mean Compute?"),
        ("- !Compute\n", "-\n", "a node must say what it is", 18, None),
        ("name: BUF", "name: DRAM", "two nodes are called DRAM (the first in line 4)", 11, None),
        ("name: BUF", "name: a.b", "a node cannot have this name", 11, None),
        ("arch:", "ach:", "this file holds no architecture", 1, "write `arch:` instead of `ach:`"),
        ("arch:", "variable: {}\narch:", "unknown field variable", 1, "did you mean variables?"),
        ("nodes:", "nodes: 3\n  extra:", "unknown field extra", 3, None),
        ("keep: ~DRAM,", "keep: ~DRAMM,", "nothing is called DRAMM here", 16, "did you mean DRAM?"),
        (
            "keep: ~DRAM,",
            "keep: 3,",
            "this must be a set of names: a name, an expression such as ~A, or a list",
            16,
            None,
        ),
        (
            "keep: ~DRAM,",
            "keep: __import__('os'),",
            "`__import__('os')` (column 1) is not allowed in an expression",
            16,
            None,
        ),
    ],
)
def test_errors_name_the_line(
    change: Change, matmul: Scope, old: str, new: str, what: str, line: int, instead: str | None
) -> None:
    error = failure(change(old, new), matmul)
    assert error.what == what
    assert error.where is not None
    assert error.where.line == line
    assert instead is None or error.instead == instead


def test_an_architecture_needs_a_compute(small: str) -> None:
    error = failure(small[: small.index("  - !Compute")])
    assert error.what == "the architecture has no Compute"
    assert error.where is not None
    assert error.where.line == 3


@pytest.mark.parametrize("fanout", ["0", "-4", "2.5", "inf", "1 / 3", "[2]", "true"])
def test_a_fanout_is_a_whole_number(change: Change, fanout: str) -> None:
    text = change("size: 1024", f"size: 1024\n    spatial: [{{name: X, fanout: {fanout}}}]")
    error = failure(text)
    assert error.where is not None
    assert error.where.line == 13


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


def test_variables_in_any_order(change: Change, matmul: Scope) -> None:
    text = "variables: {a: b * 2, b: c + 1, c: 3}\n" + change("size: 1024", "size: a * 4")
    memory = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(memory, Memory)
    assert memory.size == 32
    again = flatten(load_arch(text, variables={"c": 7}), matmul)[0].component("BUF")
    assert isinstance(again, Memory)
    assert again.size == 64


def test_variables_may_depend_on_the_einsum(
    change: Change, matmul: Scope, elementwise: Scope
) -> None:
    text = "variables: {n: len(All)}\n" + change("size: 1024", "size: n * 4")
    sizes = [flatten(load_arch(text), s)[0].component("BUF") for s in (matmul, elementwise)]
    assert [memory.size for memory in sizes if isinstance(memory, Memory)] == [12, 8]


def test_a_cycle_of_variables_is_an_error(change: Change) -> None:
    error = failure("variables:\n  a: b\n  b: c\n  c: a\n" + change("size: 1024", "size: a"))
    assert error.what == "a depends on itself: a -> b -> c -> a"
    assert error.where is not None
    assert error.where.line == 2


def test_lists_that_double_are_an_error(change: Change) -> None:
    doubled = "".join(f"  {x}{i}: [{x}{i - 1}, {x}{i - 1}]\n" for x in "ab" for i in range(1, 40))
    text = f"variables:\n  a0: 1\n  b0: 1\n{doubled}" + change("size: 1024", "size: a39 == b39")
    assert "too many steps" in failure(text).what


def test_fields_see_the_fields_beside_them(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 1024\n    area: size * 2\n    leak_power: area / 1024")
    component = flatten(load_arch(text), matmul)[0].component("BUF")
    assert (component.area, component.leak_power) == (2048, 2)


def test_a_field_that_needs_itself_is_an_error(change: Change) -> None:
    error = failure(change("size: 1024", "size: area\n    area: size"))
    assert "depends on itself" in error.what


def test_a_field_may_take_a_variable_of_its_own_name(change: Change, matmul: Scope) -> None:
    text = "variables: {size: 77}\n" + change("size: 1024", "size: size")
    memory = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(memory, Memory)
    assert memory.size == 77


def test_printing_back_reads_to_the_same(change: Change) -> None:
    text = "variables: {a: '010', b: 'on', c: 1e-12, d: [1, x]}\n" + change(
        "size: 1024", "size: 1e3\n    spatial: [{name: 'yes', fanout: 4, may_reuse: [A, ~B]}]"
    )
    arch = load_arch(text)
    printed = dump_arch(arch)
    assert load_arch(printed) == arch
    assert dump_arch(load_arch(printed)) == printed
    assert load_arch(text.replace("energy: 5,", "energy: 7,")) != arch


def test_pickling_keeps_everything(small: str, matmul: Scope) -> None:
    arch = load_arch(small)
    again = pickle.loads(pickle.dumps(arch))
    assert again == arch
    assert again.where(again.node("BUF"), "size").line == 12
    flat = pickle.loads(pickle.dumps(flatten(arch, matmul)))[0]
    assert flat.components[0].tensors.resolve({}).keep == frozenset("AB")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("size: 1024", "size: -1", "size must not be negative"),
        ("size: 1024", "size: .nan", "size is not a number"),
        ("size: 1024", "size: 1 +", "this is not an expression"),
        ("size: 1024", "size: __import__('os')", "is not allowed in an expression"),
        ("size: 1024", "size: 8\n    spatial: [{name: X, fanout: 0}]", "spatial[0].fanout must be"),
        ("size: 1024", "size: 8\n    spatial: [{name: X, fanout: 2.5}]", "a whole number"),
        ("size: 1024", "size: 8\n    bits_per_value: {A B: 1}", "this is not an expression"),
        ("size: 1024", "size: 8\n    values_per_action: {A: -1}", "must not be negative"),
        ("energy: 5,", "energy: -5,", "actions[0].energy must not be negative"),
        ("keep: ~DRAM,", "keep: [A, lambda],", "this is not an expression"),
    ],
)
def test_reading_refuses_what_no_einsum_can_mend(
    change: Change, old: str, new: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        load_arch(change(old, new))
    assert words in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.line is not None
    assert caught.value.where.line > 9


# ---- overrides


def test_values_by_name(small: str, matmul: Scope) -> None:
    text = "variables: {n: 1}\n" + small.replace(
        "size: 1024", "size: 1024 * n\n    spatial: [{name: Z, fanout: 2}]"
    )
    arch = load_arch(text)
    changed = arch.with_values(
        {
            "BUF.size": "2048 * n",
            "BUF.spatial.Z.fanout": 8,
            "BUF.actions.read.energy": 3,
            "BUF.energy_scale": 2,
            "BUF.tensors.keep": "All",
            "variables.n": 5,
        }
    )
    component = flatten(changed, matmul)[0].component("BUF")
    assert isinstance(component, Memory)
    assert (component.size, component.own_fanout) == (10240, 8)
    assert component.action("read").energy == 6
    assert component.tensors.resolve({}).keep == frozenset("ABZ")
    untouched = flatten(arch, matmul)[0].component("BUF")
    assert isinstance(untouched, Memory)
    assert (untouched.size, untouched.own_fanout) == (1024, 2)
    assert load_arch(dump_arch(changed)) == changed


@pytest.mark.parametrize(
    ("key", "what", "instead"),
    [
        ("BUFF.size", "the architecture has no component BUFF", "did you mean BUF?"),
        ("BUF.sise", "BUF has no field sise", "did you mean size?"),
        ("BUF.actions.raed.energy", "BUF has no field raed", "did you mean read?"),
        ("BUF.actions.read.enrgy", "BUF has no field enrgy", "did you mean energy?"),
        ("BUF.name", "BUF has no field name", None),
        ("variables.M", "the architecture has no variable M", None),
        ("BUF", "BUF names no field", None),
        ("", "a key must be Component.field", None),
    ],
)
def test_unknown_names_are_refused(small: str, key: str, what: str, instead: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        load_arch(small).with_values({key: 3})
    assert caught.value.what == what
    assert instead is None or instead in str(caught.value.instead)


def test_a_bad_value_is_refused_where_the_field_stands(small: str) -> None:
    changed = load_arch(small).with_values({"BUF.size": "1 - 4"})
    with pytest.raises(SpecError, match="size must not be negative") as caught:
        flatten(changed)
    assert caught.value.where is not None
    assert caught.value.where.line == 12
    with pytest.raises(SpecError, match="size must not be negative") as caught:
        load_arch(small).with_values({"BUF.size": -3})
    assert caught.value.where is not None
    assert caught.value.where.line == 12
    with pytest.raises(SpecError, match="must be a number or an expression"):
        load_arch(small).with_values({"BUF.size": [3]})


def test_infinity_and_nothing(small: str, matmul: Scope) -> None:
    component = flatten(load_arch(small), matmul)[0].component("DRAM")
    assert isinstance(component, Memory)
    assert math.isinf(component.size)
