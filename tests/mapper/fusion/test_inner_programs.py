"""Programs below the lowest tensor on chip, one for each spatial choice above it."""

from __future__ import annotations

import pytest
from fused_cases import two_text
from fused_example import WORKLOAD, paths_of

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate, fused_templates
from tilewright.mapper.fusion.pmappings.inner_programs import (
    InnerProgram,
    LoopGaps,
    SharingRules,
    inner_programs,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.templates.problem import Problem

TILE = "  - !Container\n    name: TILE\n    spatial: [{name: x, fanout: 2}]\n"


def mapspace(fanout: bool) -> Mapspace:
    """Return the mapspace of Y[m, n] = A[m, k] * B[k, n], maybe with two lanes above BUF."""
    text = two_text(64, (100, 1))
    place = text.index("  - !Memory\n    name: BUF")
    einsum, flat = paths_of(
        WORKLOAD, load_arch(text[:place] + TILE + text[place:] if fanout else text)
    )[0]
    return Mapspace(einsum, flat, exchanged=frozenset({"Y"}))


def template_of(space: Mapspace, *region: str) -> FusedTemplate:
    """Return the template with all tensors in BUF whose region has these, Y lowest."""
    templates = fused_templates(space, frozenset({TensorPlace("Y", "BUF")}))
    return next(
        template
        for template in templates
        if tuple(holder.tensor for holder in template.region) == region
        and len(template.template.holders) == 5
    )


def compiled(problem: Problem, template: FusedTemplate, rules: SharingRules) -> list[InnerProgram]:
    return list(inner_programs(problem, label_fields(problem, ()), template, rules))


def test_without_lanes_there_is_one_program() -> None:
    space = mapspace(fanout=False)
    rules = SharingRules(((0, (0, 1)), (1, (1,))), [frozenset(), frozenset()])
    (inner,) = compiled(space.problem, template_of(space, "A", "Y"), rules)
    assert inner.loop_gaps == (LoopGaps(0, (1, 3)), LoopGaps(1, (3,)))
    assert inner.spatial_loops == inner.spatial_loops_above(1) == ()
    charges_of_a, charges_of_y = inner.holder_charges
    assert {term.tensor for term in charges_of_a} == {"A"}
    assert charges_of_y == ()  # a tensor on chip pays only what passes below its backing holder


@pytest.mark.parametrize(("variables", "choices"), [("m", 2), ("mn", 3), ("", 1)])
def test_lanes_above_a_tensor_on_chip_are_fixed_first(variables: str, choices: int) -> None:
    """Two lanes over one of the variables, or one lane."""
    space = mapspace(fanout=True)
    shared = frozenset(variables)
    rules = SharingRules(((0, (0,)),), [shared])
    programs = compiled(space.problem, template_of(space, "Y"), rules)
    names = list(space.einsum.bounds)
    spread = {names[loop.variable] for inner in programs for loop in inner.spatial_loops}
    assert len(programs) == choices
    assert spread == shared
    for inner in programs:
        lanes = [loop.lanes for loop in inner.spatial_loops]
        assert lanes in ([], [2])
        assert inner.loop_gaps == (LoopGaps(0, (1, 0) if lanes else (1,)),)
        assert inner.spatial_loops_above(0) == inner.spatial_loops
