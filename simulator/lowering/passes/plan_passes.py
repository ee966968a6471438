"""The passes from a mapping to a program: what each one decided, as text, and that it is right.

derive → choose → bound → place → kernel → route → schedule → emit (theory/grid.md §4). A pass is
checked on its result alone, without the code that made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from tilewright.mapper.grid.reductions import Chain, Phase
from tilewright.mapper.grid.space_time import HeldTensor, SpaceLoop, SpaceTime, TimeLoop
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.passes.pass_checks import (
    check_bound,
    check_choice,
    check_coverage,
    check_kernel,
    check_places,
    check_tasks,
    check_text,
)
from tilewright.simulator.lowering.passes.route_trace import check_routes
from tilewright.simulator.lowering.plan import Plan, program_of
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import ElementCode, Program, Task
from tilewright.simulator.text.printing import print_program

MOST_CHAINS: Final = 3
"""Chains of a phase that are shown."""
_EXITS: Final = {
    "none": "stays in the elements",
    "south": "leaves over the south border",
    "east": "leaves over the east border",
    "gather": "leaves down the columns, element after element",
}


@dataclass(frozen=True, slots=True)
class PlanPass:
    """One pass of the lowering of a mapping.

    `name`: derive, choose, bound, place, kernel, route, schedule or emit. `lines`: what it decided.
    `checked`: what was checked of it, as a sentence; a check that fails raises PassError.
    """

    name: str
    lines: tuple[str, ...]
    checked: str

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {line}" for line in self.lines), f"  ✓ {self.checked}"])


def plan_passes(plan: Plan, profile: Profile) -> tuple[PlanPass, ...]:
    """Return the passes of a plan on a machine, in order, each checked.

    Raises PassError for a check that fails, which is a fault of Tilewright.
    """
    read, program = plan.read, program_of(plan, profile)
    bound, text = lower_bound(plan, profile), print_program(program)
    steps: list[tuple[str, Iterator[str], Callable[[], str]]] = [
        ("derive", _loops(read), partial(check_coverage, read)),
        ("choose", _movements(plan), partial(check_choice, plan)),
        ("bound", iter([f"at least {bound:,} cycles"]), partial(check_bound, plan, profile, bound)),
        ("place", _places(plan), partial(check_places, plan, profile)),
        ("kernel", _kernel(plan), partial(check_kernel, plan)),
        ("route", _routes(program), partial(check_routes, program)),
        ("schedule", _tasks(program), partial(check_tasks, program, profile)),
        ("emit", _text(text), partial(check_text, program, text)),
    ]
    return tuple(PlanPass(name, tuple(lines), check()) for name, lines, check in steps)


def plan_lines(plan: Plan) -> list[str]:
    """Return what the passes say of a plan before its routes are written, in order."""
    read = plan.read
    return [*_loops(read), *_movements(plan), *_places(plan), *_kernel(plan)]


def _loops(read: SpaceTime) -> Iterator[str]:
    for axis in ("X", "Y"):
        loops = " ".join(_loop(loop) for loop in read.along(axis))
        yield f"along {axis}: {loops or 'one element'}"
    yield f"in time: {' '.join(_loop(loop) for loop in read.time) or 'one turn'}"
    for tensor in read.tensors:
        yield f"{tensor.name}: {_held(read, tensor)}"


def _loop(loop: SpaceLoop | TimeLoop) -> str:
    return f"{loop.variable}:{loop.count}x{loop.tile}"


def _held(read: SpaceTime, tensor: HeldTensor) -> str:
    tiles, values = read.visits(tensor), tensor.values
    what = f"{tiles} tiles of {values} values" if tiles > 1 else f"one tile of {values} values"
    two = ", two buffers" if tensor.buffers == 2 else ""
    return what + two + (", in the elements only" if tensor.resident else "")


def _movements(plan: Plan) -> Iterator[str]:
    read = plan.read
    by_tensor = {stream.tensor.name: stream for stream in plan.streams}
    for tensor in read.inputs:
        stream = by_tensor.get(tensor.name)
        parts = ["stays in the elements"]
        if stream is not None:
            words = f"{stream.number} streams of {stream.words} words"
            tiles = f"{stream.periods} periods of {stream.tiles} tiles of {stream.tile_words}"
            parts = [f"enters by {stream.lines}, {words}, {tiles}"]
        if tensor.shift is not None:
            parts.append(f"shifts along {tensor.shift} {read.visits(tensor) - 1} times")
        yield f"{tensor.name}: {', then '.join(parts)}"
    sums, name = plan.sums, read.output.name
    added = f"added over {sums.group} elements by {read.reduction or 'chain'}, "
    leaves = _EXITS[sums.exit]
    shared = f", shared by {sums.group} elements" if sums.shared else ""
    yield f"{name}: {added if sums.group > 1 else ''}{leaves}{shared}"
    for number, phase in enumerate(sums.phases):
        yield f"sums {number} along {phase.axis}: {_chains(phase)}"


def _chains(phase: Phase) -> str:
    """Return the first chains of a phase, and how many more there are."""
    shown = [_chain(chain) for chain in phase.chains[:MOST_CHAINS]]
    more = len(phase.chains) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _chain(chain: Chain) -> str:
    return "-".join(map(str, chain.positions)) + (" (sums first)" if chain.stores else "")


def _places(plan: Plan) -> Iterator[str]:
    count = Counter(plan.placement.ravel().tolist())
    for number, role in enumerate(plan.roles):
        row, column = divmod(int((plan.placement.ravel() == number).argmax()), plan.read.columns)
        yield f"{role.name}: {count[number]} elements, the first at ({row}, {column})"
    for name, first in sorted(plan.addresses.first_word.items(), key=lambda item: item[1]):
        yield f"{name}: from word {first} of the memory on"
    yield f"{2 * plan.addresses.words} bytes of each element"


def _kernel(plan: Plan) -> Iterator[str]:
    kernel, time = plan.kernel, plan.read.time
    yield f"loops: {' '.join(_loop(time[n]) for n in kernel.outer) or 'none'}"
    yield f"an operation: {' '.join(_loop(time[n]) for n in kernel.vector) or 'one value'}"
    if plan.read.scalar is not None:
        yield f"its scalar: a value of {plan.read.scalar}"
    for name, dims in kernel.loops.items():
        shape = " ".join(f"{turns} by {move}" for turns, move in dims)
        yield f"{name} in memory: {shape or 'one value'}"
    if kernel.walks:
        yield "the innermost loop is a map"


def _routes(program: Program) -> Iterator[str]:
    for color in program.colors:
        routes = [route for route in program.routes if route.color == color.name]
        elements = sum(route.area.size for route in routes)
        ways = sorted({f"{'/'.join(r.rx)} to {'+'.join(r.tx)}" for r in routes})
        filtered = ", filtered" if any(route.filter for route in routes) else ""
        yield f"{color.id} {color.name}: {elements} routers, {'; '.join(ways)}{filtered}"


def _tasks(program: Program) -> Iterator[str]:
    for code in program.codes:
        yield f"{code.name}: {', '.join(_task(task) for task in code.tasks)}; {_queues(code)}"


def _task(task: Task) -> str:
    begins = "at the start" if task.entry else "when activated"
    return f"{task.name} {begins}{' and unblocked' if task.blocked else ''}"


def _queues(code: ElementCode) -> str:
    takes, sends = len(code.input_queues), len(code.output_queues)
    return f"takes {takes} colors, sends {sends}"


def _text(text: str) -> Iterator[str]:
    yield f"program text of {len(text.splitlines())} lines"
