"""The slots of a template: canonical gaps, outermost first."""

from __future__ import annotations

from buffer_spaces import space

from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def words(slot: Slot) -> str:
    if isinstance(slot, Fill):
        return f"fill {slot.tensor} {slot.component}"
    if isinstance(slot, Reservation):
        return f"reserve {slot.tensor} {slot.component}"
    if isinstance(slot, TemporalLoops):
        return f"loops {' '.join(slot.variables)}"
    assert isinstance(slot, SpatialLoops)
    return f"lanes {slot.name}"


def test_slots_of_one_buffered_tensor() -> None:
    room = space("keep: weight")
    (template,) = room.templates
    slots = slot_sequence(room.problem, template)
    assert [words(slot) for slot in slots] == [
        "fill Z DRAM", "reserve Z DRAM", "fill A DRAM", "reserve A DRAM",
        "fill B DRAM", "reserve B DRAM",
        "loops n k",  # m is irrelevant to B: its loop is lowered under the buffer
        "fill B BUF", "reserve B BUF",
        "loops m",  # loops over k and n would be raised above B in the buffer
        "lanes x",
    ]  # fmt: skip
    assert slot_sequence(room.problem, template) is slots  # the problem keeps them


def test_a_pinned_holder_opens_all_gaps() -> None:
    shape = "keep: weight, tile_shape: [{expression: k, operator: '>=', value: 1}]"
    room = space(shape)
    (template,) = room.templates
    listed = [words(slot) for slot in slot_sequence(room.problem, template)]
    assert listed[6:] == [
        "loops m n k", "fill B BUF", "loops n k", "reserve B BUF", "loops m n k", "lanes x",
    ]  # fmt: skip
