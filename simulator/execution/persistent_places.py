"""Where persistent tensors lie: in the elements' memories from the first Einsum to the last one.

They are there before the run, so those of all Einsums take their space together (theory/grid.md
§8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.errors import OverfilledMemory
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.addresses import (
    LeftTensors,
    Taken,
    free_word,
    free_words,
    wanted_offsets,
    words_of,
)


@dataclass(frozen=True, slots=True)
class PersistentPlaces:
    """The words of an element's memory that persistent tensors take, by (Einsum, tensor)."""

    places: Mapping[tuple[str, str], Taken] = field(default_factory=dict)

    @property
    def taken(self) -> tuple[Taken, ...]:
        """The words of all of them, each once."""
        return tuple(dict.fromkeys(self.places.values()))

    def first_words(self, reads: Sequence[SpaceTime]) -> dict[str, int]:
        """Return the addresses of those that some Einsums read, by tensor."""
        names = {read.einsum.name for read in reads}
        return {
            tensor: words.first for (name, tensor), words in self.places.items() if name in names
        }


def persistent_places(
    groups: Sequence[Sequence[SpaceTime]], settings: ExecutionSettings, offsets: Mapping[str, int]
) -> PersistentPlaces:
    """Place the persistent tensors of all Einsums of a workload one behind the other.

    groups: the mappings of the Einsums of each program, in order; Einsums of one program share a
    tensor, those of different programs have a copy each, which may be of other parts. `offsets`: by
    tensor that stays between Einsums, its address modulo 8. Raises InfeasibleMapping, with the
    bytes of each tensor, if an element is too small for all of them.
    """
    end, places = 0, dict[tuple[str, str], Taken]()
    for reads in groups:
        shared: dict[str, Taken] = {}
        for read in reads:
            wanted = wanted_offsets(read, LeftTensors(offsets))
            for tensor in persistent_inputs(read):
                if tensor.name not in shared:
                    size = words_of(tensor, read)
                    first = free_word(end, size, wanted[tensor.name], ())
                    end = first + size
                    shared[tensor.name] = Taken(first, end)
                places[read.einsum.name, tensor.name] = shared[tensor.name]
    result = PersistentPlaces(places)
    if len(groups) > 1:
        _check_together(groups[0][0], settings, result)
    return result


def persistent_inputs(read: SpaceTime) -> list[HeldTensor]:
    """Return the inputs of an Einsum that are in the elements before the workload runs."""
    return [tensor for tensor in read.inputs if tensor.resident and tensor.name not in read.staying]


def _check_together(read: SpaceTime, settings: ExecutionSettings, places: PersistentPlaces) -> None:
    """Raise InfeasibleMapping if the persistent tensors of several Einsums do not fit."""
    end = max((words.end for words in places.taken), default=0)
    free = free_words(read.grid, settings.profile(read.grid).sram_reserved_bytes)
    if end > free:
        sizes = (f"{t} of {e} {2 * (w.end - w.first)}" for (e, t), w in places.places.items())
        raise OverfilledMemory(
            f"{read.grid.memory.name} of an element has {2 * free} free bytes, the persistent "
            f"tensors of all Einsums need {2 * end}",
            value=", ".join(sizes),
            instead=f"some of them in {read.grid.host.name}, smaller parts, or more elements",
        )
