"""Streams that share colors: never at one router, in as few colors as there can be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

import pytest
from grid_mappings import einsum_workload, grid_arch, random_space_time

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.passes.route_trace import check_routes
from tilewright.simulator.lowering.passes.shared_colors import shared_colors
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program

MACHINE = load_profile("wse2-sdk-sim")
Router = tuple[int, int]
Way = dict[Router, set[tuple[str, str]]]


def with_colors(colors: int, machine: Profile = MACHINE) -> Profile:
    return machine.with_values({"colors": colors})


def programs(seed: int, number: int) -> Iterator[Program]:
    """Programs of mappings of forms with many streams, and of random ones."""
    rng = random.Random(seed)
    for _ in range(number):
        form = rng.choice(("three matrices", "matrix product", "sum of all", "three factors"))
        flat = grid_arch(form, 32, rng.choice((3, 4, 6)), rng.choice((2, 4, 5)))
        staying = frozenset(rng.choice(((), ("Z",))))
        space = GridMapspace(grid_of(flat), einsum_workload(form).einsums[0], staying=staying)
        choice = rng.choice(space.members(rng.choice(list(space.families()))))
        try:
            mapping = space.mapping_of(choice)
            yield program_of(plan_of(space_time(flat, space.einsum, mapping, staying)))
            yield program_of(plan_of(random_space_time(rng.randrange(10**6))[1]))
        except InfeasibleMapping:
            continue


def ways(program: Program) -> dict[str, Way]:
    """By color and router, the ports with `in` and `out` that its words use."""
    found: dict[str, Way] = {color.name: {} for color in program.colors}
    for route in program.routes:
        for place in ((r, c) for r in route.area.rows for c in route.area.columns):
            ports = found[route.color].setdefault(place, set())
            for position in route.directions():
                ports |= {("in", port) for port in position.rx or ()}
                ports |= {("out", port) for port in position.tx or ()}
    return found


def least_colors(streams: dict[str, Way]) -> int:
    """The least number of colors, of all sets of streams without a common router."""
    meet = {(a, b) for a, b in combinations(range(len(streams)), 2)
            if set(list(streams.values())[a]) & set(list(streams.values())[b])}  # fmt: skip
    apart = [0] * (1 << len(streams))
    for some in range(1, 1 << len(streams)):
        members = [n for n in range(len(streams)) if some >> n & 1]
        apart[some] = all(pair not in meet for pair in combinations(members, 2))
    least = [0] * (1 << len(streams))
    for some in range(1, 1 << len(streams)):
        parts, part = [], some
        while part:
            if apart[part]:
                parts.append(1 + least[some & ~part])
            part = (part - 1) & some
        least[some] = min(parts)
    return least[-1]


def test_a_program_with_enough_colors_is_the_same() -> None:
    for program in programs(1, 10):
        assert shared_colors(program, MACHINE) is program
        assert shared_colors(program, with_colors(len(program.colors))) is program


def test_streams_of_a_color_have_no_router_in_common_and_colors_are_as_few_as_there_can_be() -> (
    None
):
    shared = refused = kept = 0
    for program in programs(2, 60):
        alone = ways(program)
        if len(alone) > 9:
            continue
        least = least_colors(alone)
        for colors in range(2, len(alone)):
            if colors < least:
                with pytest.raises(ProgramError) as error:
                    shared_colors(program, with_colors(colors))
                assert f"{least} colors for {len(alone)} streams" in str(error.value)
                refused += 1
                continue
            result = shared_colors(program, with_colors(colors))
            kept += check(program, result, alone, colors)
            shared += 1
    assert shared > 30
    assert refused > 30
    assert 0 < kept <= shared


def check(before: Program, after: Program, alone: dict[str, Way], colors: int) -> bool:
    """Check a program with shared colors; return whether the order on links is that of before."""
    assert {color.id for color in after.colors} <= set(range(colors))
    assert len(after.routes) == len(before.routes)
    together: dict[str, str] = {}
    for color in after.colors:
        names = color.name.split("+")
        together |= dict.fromkeys(names, color.name)
        for first, second in combinations(names, 2):
            assert not set(alone[first]) & set(alone[second])
        merged = {place: ports for name in names for place, ports in alone[name].items()}
        assert ways(after)[color.name] == merged
    assert set(together) == set(alone)
    assert check_routes(after)
    number = {color.name: color.id for color in after.colors}
    return all(
        number[together[first]] < number[together[second]]
        for first, second in combinations(alone, 2)
        if any(
            alone[first][at] & alone[second][at] for at in set(alone[first]) & set(alone[second])
        )
    )


def test_a_stream_with_a_switch_gets_a_color_that_has_switches() -> None:
    form = "matrix times vector"
    flat = grid_arch(form, 32, 4, 1)
    einsum, staying = einsum_workload(form).einsums[0], frozenset({"Z"})
    space = GridMapspace(grid_of(flat), einsum, staying=staying)
    choices = (c for family in space.families() for c in space.members(family))
    rings = (space.mapping_of(choice) for choice in choices if "ring" in choice.reduction)
    written = (program_of(plan_of(space_time(flat, einsum, ring, staying))) for ring in rings)
    program = next(p for p in written if any(route.switch is not None for route in p.routes))
    machine = with_colors(24).with_values({"switchable_colors": [20, 23]})
    result = shared_colors(program, machine)
    found = {route.color for route in result.routes if route.switch is not None}
    assert {color.id for color in result.colors if color.name in found} == {20, 23}
    check(program, result, ways(program), 24)
    with pytest.raises(ProgramError, match="streams that meet at routers need more colors"):
        shared_colors(program, machine.with_values({"switchable_colors": [20]}))


def test_the_refusal_names_colors_their_number_and_the_router() -> None:
    program = next(p for p in programs(3, 20) if len(p.colors) > 5)
    with pytest.raises(ProgramError) as error:
        shared_colors(program, with_colors(2))
    text = str(error.value)
    assert "need more colors than wse2-sdk-sim has" in text
    assert "of them at the router of (" in text
    assert "more than 2 colors" in text
