"""Priorities of microthreads and of the main thread: where they are given, and their levels.

WSE-2 gives them to operations (or to the queue of the microthread), WSE-3 to the descriptors of
queues and FIFOs. From low to high: a low microthread, the main thread, a medium one, a high one;
the main thread's place can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.simulator.isa.dsd import MAIN_PRIORITIES, PRIORITIES, Fabin, Fabout, Fifo
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_operations
from tilewright.simulator.program.program import ElementCode


def main_level(code: ElementCode) -> int:
    """Return the priority of a code's main thread on the datapath: 0, 2, 4 or 6 (goes first)."""
    return 2 * MAIN_PRIORITIES.index(code.main_priority)


def priority_level(code: ElementCode, resolved: ResolvedOperation, asynchronous: bool) -> int:
    """Return the priority of an operation on the datapath: 0 to 6, the greatest goes first.

    A synchronous operation has the main thread's level (0, 2, 4 or 6). One on a microthread has 1,
    3 or 5 for low, medium, high, as given by the operation, else by a descriptor of a queue or
    FIFO, else by an input queue; low if none gives one.
    """
    if not asynchronous:
        return main_level(code)
    dsds = [operand.dsd for operand in resolved.operands]
    of_descriptors = [d.priority for d in dsds if isinstance(d, Fabin | Fabout | Fifo)]
    queues = {queue.id: queue.priority for queue in code.input_queues}
    of_queue = [queues.get(d.queue, "") for d in dsds if isinstance(d, Fabin)]
    given = next(filter(None, (resolved.source.priority, *of_descriptors, *of_queue)), "low")
    return 2 * PRIORITIES.index(given) + 1


def check_priorities(code: ElementCode, profile: Profile) -> None:
    """Check the priorities that a code gives: known names, in the place where the profile has them.

    Some machines give priorities to descriptors, others to operations and input queues. Raises
    ProgramError for an unknown name, the wrong place, an output queue with a priority, and a
    synchronous operation with one.
    """
    if code.main_priority not in MAIN_PRIORITIES:
        raise _unknown(f"code {code.name}", code.main_priority, MAIN_PRIORITIES)
    for where, given, on_descriptor in _given(code):
        if given not in PRIORITIES:
            raise _unknown(where, given, PRIORITIES)
        if on_descriptor != profile.priority_on_descriptors:
            place = "descriptors" if profile.priority_on_descriptors else "operations and queues"
            raise ProgramError(f"{where}: {profile.name} gives priorities to {place}", value=given)


def _given(code: ElementCode) -> Iterator[tuple[str, str, bool]]:
    """Yield (place, priority, whether the place is a descriptor).

    Raises ProgramError for an output queue or a synchronous operation that has one.
    """
    for dsd in code.dsds:
        if isinstance(dsd, Fabin | Fabout | Fifo) and dsd.priority:
            yield f"code {code.name}, DSD {dsd.name}", dsd.priority, True
    for queue in filter(lambda queue: queue.priority, code.input_queues):
        yield f"code {code.name}, queue {queue.id}", queue.priority, False
    for queue in filter(lambda queue: queue.priority, code.output_queues):
        place = f"code {code.name}, queue {queue.id}"
        raise ProgramError(f"{place}: an output queue has no priority", value=queue.priority)
    for task, op in all_operations(code):
        if not op.priority:
            continue
        place = f"code {code.name}, task {task.name}, @{op.operation}"
        if not op.asynchronous:
            raise ProgramError(
                f"{place}: a synchronous operation has the main thread's priority",
                value=op.priority,
            )
        yield place, op.priority, False


def _unknown(place: str, given: str, names: tuple[str, ...]) -> ProgramError:
    return ProgramError(
        f"{place}: unknown priority", value=given, instead="one of " + ", ".join(names)
    )
