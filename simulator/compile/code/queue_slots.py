"""Queue slots of an element: 0 to 7 are its input queues, 8 to 15 its output queues."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.isa.dsd import Dsd, Fabin, Fabout
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.program.program import ElementCode


def slot_of(queue: int, output: bool) -> int:
    """Return the slot (0 to 15) of a queue of an element: its id, plus 8 for an output queue."""
    return at.OUTPUT_SLOT + queue if output else queue


def first_color(code: ElementCode, slot: int) -> str:
    """Return the color that a queue of a code is bound to at the start of the program; "" for none.

    slot: 0 to 7 for input queues, 8 to 15 for output queues. A code, which a class of elements
    runs, may bind a queue to other colors later.
    """
    queues = code.output_queues if slot >= at.OUTPUT_SLOT else code.input_queues
    colors = (queue.color for queue in queues if queue.id == slot % at.OUTPUT_SLOT)
    return next(colors, "")


def slot_of_descriptor(dsd: Dsd | None) -> int | None:
    """Return the slot of the queue that a fabric descriptor names; None for other descriptors.

    Slots 0 to 7 are input queues, 8 to 15 output queues.
    """
    if isinstance(dsd, Fabin | Fabout):
        return slot_of(dsd.queue, isinstance(dsd, Fabout))
    return None


def queue_slots(resolved: ResolvedOperation) -> tuple[int, ...]:
    """Return the slots of the queues that an operation names, the destination's first.

    Slots 0 to 7 are input queues, 8 to 15 output queues; a queue that two operands use is there
    twice. Queues that are known only through registers are missing.
    """
    slots = (slot_of_descriptor(operand.dsd) for operand in resolved.operands)
    return tuple(slot for slot in slots if slot is not None)


SlotsByColor = dict[str, list[tuple[int, int]]]


def slots_by_color(layouts: tuple[CodeLayout, ...]) -> tuple[SlotsByColor, SlotsByColor]:
    """Return the queues that send, and those that take each color: numbers of code and slot.

    A queue is bound to the color at the start or later. Of a code the first one takes it.
    """
    senders: SlotsByColor = {}
    receivers: SlotsByColor = {}
    for number, layout in enumerate(layouts):
        for slot, color in _bound_slots(layout, output=True):
            senders.setdefault(color, []).append((number, slot))
        first = {color: slot for slot, color in reversed(_bound_slots(layout, output=False))}
        for color, slot in first.items():
            receivers.setdefault(color, []).append((number, slot))
    return senders, receivers


def _bound_slots(layout: CodeLayout, *, output: bool) -> dict[tuple[int, str], None]:
    """Return the slots of output or input queues, each with a color that it is bound to, once."""
    queues = layout.code.output_queues if output else layout.code.input_queues
    slots = [(slot_of(queue.id, output), queue.color) for queue in queues]
    later = [bound for bound in layout.bindings if (bound[0] >= at.OUTPUT_SLOT) == output]
    return dict.fromkeys([*slots, *later])
