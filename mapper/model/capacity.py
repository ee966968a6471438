"""Which tiles live at the same time, and whether they fit (accelforge.md §2.4).

While one Einsum runs, what others hold is live too if it sits above a loop that both share (it
survives every turn of it), or if it is a tensor that an earlier Einsum left for a later one.
"""

from __future__ import annotations

from fractions import Fraction

from tilewright.arch.components import Memory
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.mapping import Spatial, Temporal
from tilewright.mapper.model.occupancy import Occupancy
from tilewright.mapper.model.path import Path
from tilewright.mapper.model.tally import Tally
from tilewright.mapper.model.view import Count, lowest_terms

Key = tuple[int, str]  # number of the Storage node, tensor


def peak_bits(tallies: list[Tally]) -> dict[str, Count]:
    """Return the most bits that live at a time in one instance of each memory in use."""
    peaks: dict[str, Count] = {}
    users: dict[tuple[str, Key], list[int]] = {}
    for number, tally in enumerate(tallies):
        for held in tally.occupancy:
            users.setdefault((held.component, _key(held)), []).append(number)
    for number in range(len(tallies)):
        live: dict[str, dict[Key, Count]] = {}
        for other, tally in enumerate(tallies):
            for held in tally.occupancy:
                using = users[held.component, _key(held)]
                if other == number or _is_live(held, tally, tallies[number], number, using):
                    tiles = live.setdefault(held.component, {})
                    tiles[_key(held)] = max(tiles.get(_key(held), 0), held.bits)
        for name, tiles in live.items():
            peaks[name] = max(peaks.get(name, 0), sum(tiles.values()))
    return {name: lowest_terms(Fraction(bits)) for name, bits in peaks.items()}


def check_capacity(tallies: list[Tally], peaks: dict[str, Count]) -> None:
    """Raise InfeasibleMapping for the first memory whose tiles do not fit."""
    for name, bits in peaks.items():
        size = min(
            component.size
            for tally in tallies
            for component in tally.view.flat.components
            if component.name == name and isinstance(component, Memory)
        )
        if bits > size:
            raise InfeasibleMapping(
                f"the tiles in {name} need {float(bits):g} bits, but its size is {size:g} bits",
                value=float(bits),
                instead=f"smaller tile_shapes in loops above the Storage nodes of {name}: "
                f"{_largest(tallies, name)}",
            )


def _largest(tallies: list[Tally], name: str) -> str:
    tiles = [held for tally in tallies for held in tally.occupancy if held.component == name]
    tiles.sort(key=lambda held: (-held.bits, held.key))
    return ", ".join(f"{held.tensor} takes {float(held.bits):g}" for held in tiles[:3])


def _key(held: Occupancy) -> Key:
    return held.origin, held.tensor


def _is_live(held: Occupancy, owner: Tally, running: Tally, number: int, users: list[int]) -> bool:
    """Is `held`, which `owner` uses, live while Einsum `number` (`running`) is computed?"""
    if held.persistent:
        return True
    shared = _shared_loops(owner.path, running.path)
    if held.loops_above < shared:
        return True
    return held.loops_above == shared and min(users) < number < max(users)


def _shared_loops(one: Path, other: Path) -> int:
    """Loops above the Sequential at which two paths part."""
    for mine, its in zip(one.splits, other.splits, strict=False):
        if mine.branch != its.branch:
            return sum(isinstance(step, Temporal | Spatial) for step in one.steps[: mine.position])
    return 0
