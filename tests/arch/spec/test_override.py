"""Fields of an architecture changed by name."""

from __future__ import annotations

import pytest

from tilewright.arch.components.components import Memory
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch


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
        ("BUF.spatial.0.fanout", "BUF has no field 0", "write it in the file first"),
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
