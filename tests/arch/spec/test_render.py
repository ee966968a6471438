"""Pictures: what they must show, and that the SVG is well-formed."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.render import mermaid, render, rows, svg, text_tree

TEXT = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {keep: ~Intermediates}
    component_class: Dummy
  - !Fork
    nodes:
    - !Compute {name: Vec, component_class: Dummy, enabled: len(All) == 2}
  - !Memory
    name: "Buf <&>"
    size: 1024*1024*8
    spatial: [{name: Z, fanout: 4}]
    component_class: Dummy
  - !Container {name: PEs, spatial: [{name: X, fanout: 8}, {name: Y, fanout: 2}]}
  - !Compute {name: MAC, component_class: Dummy}
"""


def test_text_tree(golden: Callable[[str], None]) -> None:
    golden(text_tree(load_arch(TEXT)))


def test_mermaid_diagram(golden: Callable[[str], None]) -> None:
    golden(mermaid(load_arch(TEXT)))


def test_rows_hang_from_what_is_above_them() -> None:
    table = rows(load_arch(TEXT))
    parents = {row.label: row.parent for row in table}
    assert parents == {"DRAM": None, "Vec": 0, "Buf <&>": 0, "PEs": 2, "MAC": 3}
    assert [row.depth for row in table] == [0, 1, 0, 0, 0]


def test_svg_is_well_formed_and_shows_every_component() -> None:
    tree = ElementTree.fromstring(svg(load_arch(TEXT)))
    texts = [element.text for element in tree.iter() if element.text]
    for wanted in ("DRAM", "Buf <&>", "PEs", "MAC", "×8 X ×2 Y", "1 MiB · keep"):
        assert any(wanted.split(" ·")[0] in text for text in texts), wanted
    width, height = float(tree.attrib["width"]), float(tree.attrib["height"])
    for box in tree.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("x", "0")) + float(box.attrib["width"]) <= width
        assert float(box.get("y", "0")) + float(box.attrib["height"]) <= height


def test_unknown_form() -> None:
    with pytest.raises(SpecError, match="no picture of the form svgg"):
        render(load_arch(TEXT), "svgg")
