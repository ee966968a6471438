"""Bounds and cycles of one Einsum's candidates that equal questions have found before.

A program's cycles follow from the Einsum, the components of the grid without their prices, the
tensors that stay in the elements, and the machine profile. Another design, another worker or
another run with the same of these need not simulate it again. What was stopped early, or failed, is
not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace, LoopOrder
from tilewright.mapper.searches.shared.hit_counts import EINSUMS, SIMULATIONS
from tilewright.simulator.execution.known.canonical_names import canonical_names, with_plain_ranks
from tilewright.simulator.execution.known.known_bounds import Bound, KnownBounds
from tilewright.simulator.known.code_hash import code_hash
from tilewright.simulator.known.content_key import NoKeyError, content_key
from tilewright.simulator.known.content_store import NOTHING_KEPT as NO_STORE
from tilewright.simulator.known.content_store import ContentStore
from tilewright.simulator.known.machine_part import machine_part
from tilewright.simulator.lowering.addresses import LeftTensors
from tilewright.simulator.profiles.profile import Profile

_RAN, _TIMED = "ran", "timed"
_UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class CyclesQuestion:
    """All that decides the cycles of an Einsum's candidates.

    `flat`: path of components to the compute of the grid; `space`: the mapspace; `kept`: addresses
    of tensors that stay in the elements between Einsums; `profile`: of the machine.
    """

    flat: FlatArch
    space: GridMapspace
    kept: LeftTensors
    profile: Profile

    @property
    def key(self) -> str:
        """A hash of the question; its constraints are left out, as a candidate has none.

        Questions that differ in the names of an Einsum only, in the same order, have one.
        """
        einsum, staying = self.space.einsum, self.space.staying
        part, kept = machine_part(self.flat), self.kept.read_by(einsum.tensors, staying)
        decides = code_hash(), part, with_plain_ranks(einsum), staying, kept, self.profile
        return content_key(*decides, names=self.names)

    @property
    def names(self) -> dict[str, str]:
        """What stands for the names of the Einsum in keys."""
        return canonical_names(self.space.einsum)


class KnownCycles:
    """What is known of the candidates of one question: bounds of families, cycles of choices.

    `question`: None if nothing is kept; `store`: where.
    """

    def __init__(self, question: CyclesQuestion | None = None, store: ContentStore = NO_STORE):
        self._store, self._key = store, ""
        self._new: dict[str, dict[str, int | None]] = {_RAN: {}, _TIMED: {}}
        self._running: dict[str, Any] = {}
        self._bounds: dict[int, Any] = {}
        self._names: dict[tuple[GridFamily, LoopOrder | None], str] = {}
        self._found: dict[str, Any] = {}
        if question is None or not store.keeps:
            return
        try:
            self._key = question.key
        except NoKeyError:
            return
        space, self._stand_for = question.space, question.names
        kinds = space.nests, space.is_wide, space.has_parts
        decides = self._key, space.constraints, *kinds
        self._bounds_key = content_key(*decides, names=self._stand_for)
        self._new = {how: store.shared(f"{self._key} {how}") for how in self._new}
        self._running = store.shared(f"{self._key} running")
        self._bounds = store.shared(f"{self._bounds_key} bounds")
        self._found = self._read()

    def _read(self) -> dict[str, Any]:
        found = self._store.get(self._key)
        are_there = isinstance(found, dict) and all(
            isinstance(found.get(how), dict) for how in self._new
        )
        return found if are_there else {}

    def bounds(
        self,
        families: Sequence[GridFamily],
        order: Iterable[int],
        bound_of: Callable[[GridFamily], float],
    ) -> Iterator[tuple[int, Bound]]:
        """Yield the number of each family of the mapspace of the question, and its bound.

        families: all of them. order: their numbers, in the order in which bounds are asked for.
        bound_of: gives one; raises InfeasibleMapping if no member fits. The bounds are kept once
        all families have been taken.
        """
        bounds = KnownBounds(families, bound_of, self._bounds if self._key else {})
        if self._key:
            EINSUMS.asked += 1
            if not bounds.are_whole:  # of an equal Einsum of the same search
                bounds.read(self._store.get(self._bounds_key))
        are_known = bounds.are_whole
        EINSUMS.shared += are_known
        for number in order:
            yield number, bounds.of(number)
        if self._key and not are_known:
            self._store.put(self._bounds_key, {"bounds": bounds.plain()})

    def ran(self, choice: GridChoice, simulate: Callable[[], int]) -> int:
        """Return the cycles of a choice, simulated if they are not known."""
        cycles = self._cycles(_RAN, choice, simulate)
        assert cycles is not None
        return cycles

    def timed(self, choice: GridChoice, by_pattern: Callable[[], int | None]) -> int | None:
        """Return the cycles that follow from a choice's pattern, None if they do not follow."""
        return self._cycles(_TIMED, choice, by_pattern)

    def _cycles(self, how: str, choice: GridChoice, find: Callable[[], int | None]) -> int | None:
        if not self._key:
            return find()
        SIMULATIONS.asked += 1
        name = self._name(choice)
        with self._running.setdefault(f"{how} {name}", Lock()):
            found = self._found.get(how, {}).get(name, self._new[how].get(name, _UNKNOWN))
            if isinstance(found, int) or (found is None and how == _TIMED):
                SIMULATIONS.shared += 1
                return found
            cycles = self._new[how][name] = find()
            return cycles

    def _name(self, choice: GridChoice) -> str:
        mapped = choice.family, choice.order
        if mapped not in self._names:
            self._names[mapped] = content_key(mapped, names=self._stand_for)[:20]
        return f"{self._names[mapped]} {choice.reduction}"

    def save(self) -> None:
        """Keep what was found, beside what others have kept meanwhile."""
        if self._key and any(self._new.values()):
            there = self._read()
            merged = {how: {**there.get(how, {}), **new} for how, new in self._new.items()}
            self._store.put(self._key, merged)
