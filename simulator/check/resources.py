"""Checks of a program against a profile: SRAM, queues, colors, tasks, registers."""

from __future__ import annotations

from functools import partial
from typing import Final

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.check.register_check import check_registers
from tilewright.simulator.check.register_count import check_register_count
from tilewright.simulator.compile.code.priorities import check_priorities
from tilewright.simulator.compile.code.simd_modes import check_simd
from tilewright.simulator.compile.families.code_families import check_once
from tilewright.simulator.instructions.kind import ProfileContext, no_check
from tilewright.simulator.instructions.router_changes import route_changes
from tilewright.simulator.instructions.table import kind_of
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.profiles.profile import Profile, profile_number
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import Route

_CODES: Final = IdentityCache(256)
"""Codes that have passed, by profile."""


def check_resources(program: Program, profile: Profile) -> None:
    """Check that a program fits a machine: SRAM, queues, colors, tasks, registers, routers.

    `profile`: the numbers of the machine. Raises ProgramError that names the first excess.
    """
    for color in program.colors:
        if not 0 <= color.id < profile.colors:
            with ErrorSubject(color):
                raise ProgramError(
                    f"color {color.name} is not a routable color of {profile.name}",
                    value=color.id,
                    instead=f"0 to {profile.colors - 1}",
                )
    _check_routes(program, profile)
    number = profile_number(profile)
    for code in program.codes:
        check = partial(_check_code, profile=profile)
        _CODES.of(code, number, partial(check_once, code, ("resources", number), check))


def _check_code(code: ElementCode, profile: Profile) -> None:
    check_registers(code, profile)
    check_priorities(code, profile)
    check_simd(code, profile)
    _check_memory(code, profile)
    _check_queues(code, profile)
    if len(code.tasks) > profile.local_tasks:
        raise ProgramError(
            f"code {code.name} has more local tasks than {profile.name}",
            value=len(code.tasks),
            instead=f"at most {profile.local_tasks}",
        )
    for task, instruction in all_instructions(code):
        check = kind_of(instruction).check_profile
        if check is no_check:
            continue
        with ErrorSubject(instruction):
            check(instruction, ProfileContext(code, task.name, profile))
    check_register_count(code, profile)


def _check_routes(program: Program, profile: Profile) -> None:
    """Refuse routes, and what they can be changed to, that no router of a profile has."""
    for route in program.routes:
        _check_switch(program, route, profile)
        if route.swap and not profile.color_swap:
            raise ProgramError(
                f"route of color {route.color} in {route.area}: {profile.name} has no color swap",
                value=route.swap,
            )
    for code in program.codes:
        for change in route_changes(code):
            with ErrorSubject(change):
                _check_switch(program, change.alone(), profile)


def _check_switch(program: Program, route: Route, profile: Profile) -> None:
    """Refuse a switch that the routers of a profile do not have."""
    if route.switch is None:
        return
    place = f"route of color {route.color} in {route.area}:"
    number = next(color.id for color in program.colors if color.name == route.color)
    if number not in profile.switchable_colors:
        shown = ", ".join(str(color) for color in profile.switchable_colors)
        raise ProgramError(
            f"{place} {profile.name} has no switches for this color", value=number, instead=shown
        )
    for index, position in enumerate(route.switch.positions, 1):
        if position.rx and position.tx and not profile.switch_both_directions:
            raise ProgramError(
                f"{place} a switch position of {profile.name} changes rx or tx, not both",
                value=f"position {index}",
            )


def _check_memory(code: ElementCode, profile: Profile) -> None:
    needed = code.words * 2
    if needed <= max(0, profile.sram_free_bytes):
        return
    biggest = max(code.buffers, key=lambda b: (b.words, b.name))
    raise ProgramError(
        f"code {code.name} needs {needed} bytes of SRAM, an element has "
        f"{profile.sram_free_bytes} free ({profile.sram_bytes} less "
        f"{profile.sram_reserved_bytes} reserved); the largest buffer is {biggest.name} "
        f"with {biggest.words * 2} bytes",
        value=needed,
        instead="a smaller tile, or more elements",
    )


def _check_queues(code: ElementCode, profile: Profile) -> None:
    for kind, queues, depths in (
        ("input", code.input_queues, profile.input_queue_words),
        ("output", code.output_queues, profile.output_queue_words),
    ):
        for queue in queues:
            if not 0 <= queue.id < len(depths) or depths[queue.id] == 0:
                with ErrorSubject(queue):
                    raise ProgramError(
                        f"code {code.name}: {profile.name} has no {kind} queue {queue.id}",
                        value=queue.id,
                        instead=f"0 to {len(depths) - 1}",
                    )
