"""Templates: which memory holds which tensor, in which order."""

from __future__ import annotations

import pytest
from buffer_spaces import ARCH, space, workload

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace


@pytest.mark.row("001.54")
@pytest.mark.parametrize(
    ("rules", "templates"),
    [
        ("keep: All", 6),  # 3! orders
        ("keep: Nothing, may_keep: All", 16),  # 1 + 3 + 3·2 + 6
        ("keep: weight", 1),
        ("keep: input, may_keep: output", 3),  # A; A Z, Z A
        ("keep: All, tensor_order_options: [[output, weight, input]]", 1),
        ("keep: All, tensor_order_options: [[output, weight | input]]", 2),
        ("keep: All, tensor_order_options: [[output, weight], [input, weight]]", 4),
    ],
)
def test_templates(rules: str, templates: int) -> None:
    assert len(space(rules).templates) == templates


def test_back_excludes_the_memory_above() -> None:
    text = ARCH.format(rules="back: weight, keep: Nothing", dim="fanout: 2", size=4096)
    text = text.replace(
        'keep: "~Intermediates", may_keep: All', "keep: input | output, may_keep: All"
    )
    work = workload()
    (flat,) = flatten(load_arch(text), work.scope(work.einsums[0]))
    for template in Mapspace(work.einsums[0], flat).templates:
        holders = [(h.tensor, h.component) for h in template.holders]
        assert ("B", "BUF") in holders
        assert ("B", "DRAM") not in holders
