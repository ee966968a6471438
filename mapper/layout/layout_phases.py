"""The layouts of a tensor before, during and after an Einsum (layouts.md §6)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Layout


@dataclass(frozen=True, slots=True)
class LayoutPhases:
    """Hold where a tensor lies at the start of an Einsum, while it runs, and at its end.

    In the steady state the blocks of a shard may take turns in a few places (a stream of tiles); at
    the start and at the end all of the tensor is in its layout. Raises SpecError for layouts of
    different tensors, and for blocks that take turns at the start or at the end.
    """

    start: Layout
    steady: Layout
    end: Layout

    def __post_init__(self) -> None:
        if not self.start.shape == self.steady.shape == self.end.shape:
            raise SpecError(
                "the layouts of an Einsum's start, steady state and end are of one tensor",
                value=(self.start.shape, self.steady.shape, self.end.shape),
            )
        for name, layout in (("start", self.start), ("end", self.end)):
            if takes_turns(layout):
                raise SpecError(
                    f"at the {name}, {prod(layout.place.blocks)} blocks of a shard have "
                    f"{layout.place.physical_tiles} places: they overwrite each other",
                    value=layout.place.blocks,
                    instead="as many tiles as blocks, or turns in the steady state only",
                )

    @classmethod
    def resident(cls, layout: Layout) -> LayoutPhases:
        """Return the phases of a tensor that stays where it is."""
        return cls(layout, layout, layout)

    @property
    def streamed(self) -> bool:
        """Whether blocks take turns in the steady state."""
        return takes_turns(self.steady)

    @property
    def moves(self) -> bool:
        """Whether the tensor changes its layout at the start, on the way, or at the end."""
        return not self.start == self.steady == self.end


def takes_turns(layout: Layout) -> bool:
    """Tell whether blocks of a shard share places, so that a shard is never there as a whole."""
    return layout.place.physical_tiles < prod(layout.place.blocks)
