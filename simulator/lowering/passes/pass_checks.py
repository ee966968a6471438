"""Checks of the passes from a mapping to a program, on their results alone.

They compute what they need from loops, places and text, not by the functions that made them.
"""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.grid.space_time import HeldTensor, SpaceLoop, SpaceTime, TimeLoop
from tilewright.simulator.check.resources import check_resources
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

Numbers = npt.NDArray[np.int64]


class PassError(TilewrightError):
    """A pass of the lowering has given a wrong result: a fault of Tilewright."""


def fail(name: str, what: str, value: object = None) -> PassError:
    """Return the fault of a pass; `name`: of the pass."""
    text = f"the pass {name} is wrong: {what}"
    return PassError(text, value=value, instead="a report of this mapping to the developers")


def check_coverage(read: SpaceTime) -> str:
    """Check that the loops in space and time visit each point once; return the sentence.

    Of each rank variable the loops' turns must begin at 0, 1, 2, … up to its size, each once.
    """
    for variable, size in read.einsum.bounds.items():
        starts = np.zeros(1, dtype=np.int64)
        loops: list[SpaceLoop | TimeLoop] = [*read.space, *read.time]
        for loop in loops:
            if loop.variable == variable:
                starts = (starts[:, None] + loop.tile * np.arange(loop.count)).ravel()
        if not np.array_equal(np.sort(starts), np.arange(size)):
            raise fail("derive", f"the loops over {variable} do not visit each value once", size)
    points = " x ".join(str(size) for size in read.einsum.bounds.values())
    padded = f", {read.padding_share:.1%} of them padding" if read.padding_share else ""
    return f"each of {points} points is computed once{padded}"


def check_choice(plan: Plan) -> str:
    """Check movements against the parts that elements need; return the sentence.

    Each part of an input that enters must enter once; as many elements must add up a result as have
    a part of the same one.
    """
    read = plan.read
    for stream in plan.streams:
        parts = np.unique(_part(read, stream.tensor)).size
        if stream.number * stream.tiles != parts:
            entering = stream.number * stream.tiles
            raise fail("choose", f"{entering} tiles of {stream.tensor.name} enter at a time", parts)
    results = np.unique(_part(read, read.output), return_counts=True)[1]
    if (results != plan.sums.group).any():
        raise fail("choose", f"{plan.sums.group} elements add up a result", int(results[0]))
    return "each part of an input enters once, and each result is added up from all its parts"


def _part(read: SpaceTime, tensor: HeldTensor) -> Numbers:
    """Return a number for each element, equal where elements need the same part: (rows, columns).

    Of a tensor that shifts, the parts are those of the first turn.
    """
    along = {axis: _shares(read, tensor, axis) for axis in ("X", "Y")}
    if tensor.shift is not None:
        moved = np.arange(read.columns if tensor.shift == "X" else read.rows)
        along[tensor.shift] = moved
    return np.asarray(along["Y"][:, None] * read.columns + along["X"][None, :])


def _shares(read: SpaceTime, tensor: HeldTensor, axis: str) -> Numbers:
    """Return a number for each place along an axis, equal where the tensor's part is the same."""
    numbers = np.zeros(1, dtype=np.int64)
    for loop in read.space:
        if loop.axis == axis:
            used = any(loop.variable in dict(form.terms) for _, form in tensor.access.projection)
            numbers = (numbers[:, None] * loop.count + used * np.arange(loop.count)).ravel()
    return numbers


def check_bound(plan: Plan, profile: Profile, bound: int) -> str:
    """Check that the bound holds at least the words of each stream; return the sentence."""
    longest = max((stream.words for stream in plan.streams), default=0)
    if bound < 1 or bound < longest * profile.cycles_per_wavelet:
        raise fail("bound", f"a stream has {longest} words", bound)
    return f"no less than the {longest:,} words of the longest stream"


def check_places(plan: Plan, profile: Profile) -> str:
    """Check that each element has a role, and that tiles do not overlap; return the sentence."""
    read, number = plan.read, plan.placement
    if number.shape != (read.rows, read.columns) or set(np.unique(number)) != set(
        range(len(plan.roles))
    ):
        raise fail("place", "roles and elements do not match", len(plan.roles))
    end = 0
    first = plan.addresses.first_word
    for tensor in sorted(read.tensors, key=lambda tensor: first[tensor.name]):
        if first[tensor.name] < end:
            raise fail("place", f"{tensor.name} lies on another tensor", first[tensor.name])
        words = DTYPES[read.dtype_of(tensor.name)]
        end = first[tensor.name] + tensor.buffers * tensor.values * words
    if 2 * end > profile.sram_bytes:
        raise fail("place", f"the tiles end behind {profile.sram_bytes} bytes", 2 * end)
    return f"{number.size} elements have one role each; tiles are apart, in {2 * end:,} bytes"


def check_kernel(plan: Plan) -> str:
    """Check that the work on a tile has each loop once and stays in the tiles; return the sentence.

    The greatest place of a tile's value, with all loops in their last turns, lies in the tile.
    """
    kernel, time = plan.kernel, plan.read.time
    loops = sorted((*kernel.outer, *kernel.vector))
    if loops != list(range(plan.read.kernel, len(time))):
        raise fail("kernel", "the loops of the operation and around it are not those of a tile")
    for name, layout in plan.layouts.items():
        moves = [layout.moves[n] * (time[n].count - 1) for n in loops]
        lowest, highest = (
            layout.origin + sum(min(0, move) for move in moves),
            layout.origin + sum(max(0, move) for move in moves),
        )
        if lowest < 0 or highest >= layout.tensor.values:
            raise fail("kernel", f"the work leaves the tile of {name}", (lowest, highest))
    turns = prod(time[n].count for n in kernel.outer)
    return f"{turns:,} operation{'s' if turns > 1 else ''} for each tile, inside the tiles"


def check_tasks(program: Program, profile: Profile) -> str:
    """Check codes, tasks, queues and registers against the machine; return the sentence.

    Raises ProgramError for a rule of all machines, or of this one, that the program breaks.
    """
    check_program(program)
    check_resources(program, profile)
    return f"tasks, queues, registers and {len(program.colors)} colors are those of {profile.name}"


def check_text(program: Program, text: str) -> str:
    """Check that the program's text, read again, has the same text; return the sentence."""
    if print_program(parse_program(text)) != text:
        raise fail("emit", f"the text of {program.name} is another program")
    return "the text, read again, is the same program"
