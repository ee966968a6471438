"""Compute docs/validation/colors.md: the colors that programs of mappings and reshards take.

Run `python benchmarks/colors_used.py` to write the page anew: routes of all mappings of the forms
on six grids, of the schemes of reductions on large ones, and phases of random reshards.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from grid_mappings import FORMS, HARDWARE, einsum_workload, grid_arch  # noqa: E402
from pipeline_cases import example, plan_of_pipeline, random_pipeline  # noqa: E402
from reshards import drawn_reshard  # noqa: E402

from tilewright.arch.files.source import load_document  # noqa: E402
from tilewright.arch.spec.load import load_arch  # noqa: E402
from tilewright.mapper.grid.exchanges.flow_phases import flow_phases  # noqa: E402
from tilewright.mapper.grid.grid import grid_of  # noqa: E402
from tilewright.mapper.grid.grid_mapspace import GridMapspace  # noqa: E402
from tilewright.mapper.grid.host_streams import host_streams  # noqa: E402
from tilewright.mapper.grid.partial_sums import partial_sums  # noqa: E402
from tilewright.mapper.grid.reading.mapping_reading import space_time  # noqa: E402
from tilewright.mapper.grid.space_time import SpaceTime  # noqa: E402
from tilewright.mapper.workload.errors import InfeasibleMapping  # noqa: E402
from tilewright.mapper.workload.workload_loading import load_workload  # noqa: E402
from tilewright.simulator.build.program_builder import ProgramBuilder  # noqa: E402
from tilewright.simulator.exchanges.reshard_program import limits_of  # noqa: E402
from tilewright.simulator.execution.mapped_workload import grid_path  # noqa: E402
from tilewright.simulator.isa.machine_errors import ProgramError  # noqa: E402
from tilewright.simulator.lowering.passes.shared_colors import shared_colors  # noqa: E402
from tilewright.simulator.lowering.rings.shift_roles import route_shifts  # noqa: E402
from tilewright.simulator.lowering.routes import route_streams, route_sums  # noqa: E402
from tilewright.simulator.profiles.profile import load_profile  # noqa: E402
from tilewright.simulator.program.program import ElementCode, Program  # noqa: E402

PAGE = ROOT / "docs" / "validation" / "colors.md"
GRIDS = ((1, 1), (4, 1), (1, 3), (2, 2), (3, 4), (4, 2))
LARGE = ("matrix times vector", "matrix product", "sum of all", "three matrices", "linear layer")
SIDES = ((16, 16), (32, 32), (64, 16))
MOST_FAMILIES = 30
FEW = (4, 5, 6, 7, 8, 10, 12)
RESHARDS = 500
MACHINE = load_profile("wse2-sdk-sim")


class Colors(NamedTuple):
    """The colors of a program: `all` of them, and the most `at_router` of one element.

    `least`: the fewest that a machine must have, on which streams share them.
    """

    all: int
    at_router: int
    least: int


def colors_of(program: Program) -> Colors:
    """Return the colors of a program with routes."""
    at = np.zeros((program.height, program.width), dtype=np.int64)
    for color in program.colors:
        used = np.zeros_like(at, dtype=bool)
        for route in program.routes:
            if route.color == color.name:
                used[route.area.places] = True
        at += used
    most = int(at.max())
    return Colors(len(program.colors), most, least_colors(program, most))


def least_colors(program: Program, from_number: int) -> int:
    """Return the fewest colors that the streams of a program can share, from a number on."""
    for number in range(max(1, from_number), len(program.colors)):
        try:
            shared_colors(program, MACHINE.with_values({"colors": number}))
        except ProgramError:
            continue
        return number
    return len(program.colors)


def colors_of_mapping(read: SpaceTime) -> Colors:
    """Return the colors of a mapping's program, of which only the routes are written."""
    builder = ProgramBuilder(read.einsum.name, read.rows, read.columns)
    route_streams(builder, read, host_streams(read))
    route_sums(builder, read, partial_sums(read))
    route_shifts(builder, read)
    builder.written_code(ElementCode("element"))
    builder.placement(np.zeros((read.rows, read.columns), dtype=np.int32))
    return colors_of(builder.build())


def colors_of_form(form: str, columns: int, rows: int) -> Iterator[Colors]:
    """Yield the colors of all mappings of a form on a grid that differ in what moves."""
    flat, einsum = grid_arch(form, 32, columns, rows), einsum_workload(form).einsums[0]
    for staying in (frozenset[str](), frozenset({"Z"})):
        space = GridMapspace(grid_of(flat), einsum, staying=staying)
        known = set[object]()
        for family in space.families():
            for choice in space.members(family):
                key = (family.shares, family.resident, family.shifts, choice.reduction)
                if key in known:
                    continue
                known.add(key)
                try:
                    read = space_time(flat, einsum, space.mapping_of(choice), staying)
                    yield colors_of_mapping(read)
                except InfeasibleMapping:
                    continue


def most(colors: list[Colors]) -> Colors:
    """Return the most colors of any program, and the most at any router."""
    return Colors(*(max(each) for each in zip(*colors, strict=True)))


def few_table(found: list[Colors]) -> Iterator[str]:
    yield "| colors of the machine | mappings with more streams | that share colors | refused |"
    yield "|---:|---:|---:|---:|"
    for number in FEW:
        more = [colors for colors in found if colors.all > number]
        shared = sum(colors.least <= number for colors in more)
        yield f"| {number} | {len(more):,} | {shared:,} | {len(more) - shared:,} |"


def forms_table(total: list[Colors]) -> Iterator[str]:
    yield "| form | " + " | ".join(f"{columns} × {rows}" for columns, rows in GRIDS) + " |"
    yield "|---|" + "---:|" * len(GRIDS)
    for form in FORMS:
        cells = []
        for columns, rows in GRIDS:
            found = list(colors_of_form(form, columns, rows))
            total += found
            cells.append(f"{most(found).all} ({most(found).at_router})")
        yield f"| {form} | {' | '.join(cells)} |"


def large_table(total: list[Colors]) -> Iterator[str]:
    yield "| form | " + " | ".join(f"{columns} × {rows}" for columns, rows in SIDES) + " |"
    yield "|---|" + "---:|" * len(SIDES)
    for form in LARGE:
        cells = []
        for columns, rows in SIDES:
            found = list(colors_of_large(form, columns, rows))
            total += found
            cells.append(f"{most(found).all} ({most(found).at_router})")
        yield f"| {form} | {' | '.join(cells)} |"


def colors_of_large(form: str, columns: int, rows: int) -> Iterator[Colors]:
    """Yield the colors of a form whose variables are as long as the columns, on a large grid.

    Of MOST_FAMILIES families that differ in what moves, spread evenly over them.
    """
    names = sorted({name for inside in re.findall(r"\[(.*?)\]", FORMS[form])
                    for name in re.findall(r"[a-z]", inside)})  # fmt: skip
    sizes = ", ".join(f"{name.upper()}: {1 if name == 'u' else columns}" for name in names)
    text = (
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 32}}\n"
        f'  einsums:\n  - "{FORMS[form]}"\n'
    )
    workload = load_workload(load_document("large.yaml", text=text))
    arch = load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})
    einsum = workload.einsums[0]
    flat = grid_path(arch, workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    different = {(f.shares, f.resident, f.shifts): f for f in space.families()}
    families = list(different.values())
    for family in families[:: max(1, len(families) // MOST_FAMILIES)]:
        for choice in space.members(family):
            if "snake" not in choice.reduction:  # two colors, and as many routes as links
                read = space_time(flat, einsum, space.mapping_of(choice))
                yield colors_of_mapping(read)


def pipelines_line() -> str:
    plans = [plan_of_pipeline(random_pipeline(seed)) for seed in range(200)]
    plans += [plan_of_pipeline(example("attention", turns)) for turns in (1, 4)]
    found = most([colors_of(plan.program()) for plan in plans])
    apart = max(sum(len(p.colors) for p in plan.programs.values()) for plan in plans)
    return PIPELINES_TEXT.format(
        number=len(plans), most=found.all, router=found.at_router, apart=apart
    )


def reshards_line() -> str:
    limits = limits_of(MACHINE)
    saved, phases = Counter[int](), 0
    for seed in range(RESHARDS):
        case = drawn_reshard(seed)[0]
        now = flow_phases(case, limits)
        free = flow_phases(case, replace(limits, colors=1 << 20))
        if now is not None and free is not None:
            phases += len(now)
            saved[len(now) - len(free)] += 1
    return RESHARDS_TEXT.format(
        number=saved.total(), phases=phases, fewer=saved.total() - saved[0], same=saved[0]
    )


def page() -> str:
    small: list[Colors] = []
    large: list[Colors] = []
    forms, sides = ("\n".join(table) for table in (forms_table(small), large_table(large)))
    return TEXT.format(
        forms=forms,
        large=sides,
        few="\n".join(few_table(small + large)),
        families=MOST_FAMILIES,
        mappings=len(small),
        most=most(small).all,
        pipelines=pipelines_line(),
        reshards=reshards_line(),
    )


PIPELINES_TEXT = """\
{number} pipelines (random ones and attention on 8 × 8 elements) take at most {most} colors, and
{router} at a router. The programs of their Einsums alone have up to {apart} together; those that
take the same way are one."""
RESHARDS_TEXT = """\
Flows of a reshard share a color where they have no router in common, and take turns in phases. Of
{number} random reshards with {phases} phases, {fewer} would have fewer phases with any number of
colors; the other {same} need as many, for queues and registers."""
TEXT = """\
# Colors that programs take

Written by `python benchmarks/colors_used.py`; do not edit. A machine has 24 colors, or what its
profile says. A color costs no time and no energy, so each stream has its own where there are
enough; where there are not, streams that have no router in common share one
([grid.md](../theory/grid.md) §4).

## Einsums on grids

The most colors of any program of a form's mapspace, and in parentheses the most at one router: all
shares, inputs in the elements or entering, shifts, and schemes of the reduction, also with the
result in all elements. {mappings:,} mappings; none takes more than {most} colors.

{forms}

## Large grids

Likewise for forms with long reductions, their ranks as long as the grid has columns: some
{families} families of each, with all schemes but snakes, which have the two colors of a chain.

{large}

## Why 24 are enough

An input that enters takes a color, one that shifts four more; a mapping has at most three inputs.
A chain takes two colors, a phase of a tree one, a generated tree at most four phases of two, along
each of two axes. Results leave on one color or two, or come back on one. So chains, two phases and
generated trees take at most 16 colors for sums, 3 for inputs and 2 for results: 21. A tree takes
one for each phase, and an input queue for each in the element where it ends, of which there are 8;
so queues end it before colors do. An all-reduce by a ring takes six. Where tiles shift along an
axis, sums run along the other one alone: at most 12 colors for rings and inputs, 8 for sums, 2 for
results.

## Fewer colors

Of all mappings above: those with more streams than a machine has colors run where the streams can
share them, and are refused where they cannot, mostly since too many meet at a router.

{few}

`tests/agreement/test_few_colors.py` runs such mappings with 3 to 10 colors.

## Pipelines

{pipelines}

## Reshards

{reshards}

## What follows

Filters and switch positions save colors where one stream serves many elements: the tiles of a line
come on one color, and a counter filter lets each element have its own; in a ring's second half the
chunks of all elements take one color in each direction, and a switch lets each element's own chunk
pass first. Otherwise streams of one program have a color each on the machines that ship: no mapping
of the search takes too many, and a switch would cost a control wavelet for each stream and turn.
"""

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
