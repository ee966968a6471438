"""The tree of nodes: tags, names, order, and errors with their line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch

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
        (
            "size: 1024",
            "size: 8\n    n_parallel_instances: 0",
            "n_parallel_instances must be above 0",
            13,
            "1, or leave the component out",
        ),
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
