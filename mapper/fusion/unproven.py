"""Say why a fused search ended before its proof, and what would make it smaller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.mapper.fusion.join.join_deepening import JoinResult
from tilewright.mapper.fusion.pmappings.on_chip_choice import LargestChoice, OnChipChoice
from tilewright.mapper.searches.budget import EndReason


def unproven_notes(result: JoinResult, copies: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a note that says what ended the search, and where most of its work was.

    Without one if the search came to its end, or if its budget of seconds ended it before it had
    work. `copies`: names of copy Einsums that may have better mappings, which a note says, too.
    """
    notes = [_end_text(result)] if _is_cut(result) else []
    if copies:
        notes.append(
            f"not proven optimal: of the mappings of {', '.join(copies)}, which only copies, a few "
            "were tried; what others could save is in the gap, and a longer search leaves it so"
        )
    return tuple(notes)


def _is_cut(result: JoinResult) -> bool:
    """Tell whether a limit ended the search, and there is something to say of its work."""
    if result.ended is None:
        return False
    return result.ended != EndReason.SECONDS or result.largest is not None


def _end_text(result: JoinResult) -> str:
    assert result.ended is not None
    note = f"not proven optimal: the search ended at {result.ended.value}"
    return note if result.largest is None else f"{note}; {size_text(result.largest)}"


def end_before_first_mapping(result: JoinResult) -> str:
    """Say what ended a search that has no mapping yet, and where most of its work was."""
    end = "the budget ended the fused search before its first mapping"
    if result.ended is not None and result.ended != EndReason.SECONDS:
        end = f"the fused search ended at {result.ended.value} before its first mapping"
    return end if result.largest is None else f"{end} ({size_text(result.largest)})"


def size_text(largest: LargestChoice) -> str:
    """Return sentences that say which Einsum and tensors on chip took most work, and what helps."""
    choice = largest.choice
    share = f"{100 * largest.labels / largest.all_labels:.0f} % of its partial mappings"
    text = f"{share} are of {choice.fused_einsum.einsum.name} with {_places_text(choice)}"
    advice = " or ".join(_advice(choice))
    return f"{text}; {advice} would make it smaller" if advice else text


def _places_text(choice: OnChipChoice) -> str:
    """Return a phrase that names the exchanged tensors on chip and their memories."""
    boundary = choice.fused_einsum.boundary
    places = [place for i, place in enumerate(boundary) if choice.mask >> i & 1]
    if not places:
        return "no exchanged tensor on chip"
    return ", ".join(f"{place.tensor} in {place.memory}" for place in places)


def _advice(choice: OnChipChoice) -> Iterator[str]:
    """Yield changes of the files that make a choice's search smaller, as text.

    Fewer tensors in `may_keep` of the memory with the most freedom; `loop_bounds` on its fanouts.
    """
    memory = _freest_memory(choice)
    if memory is not None:
        yield f"fewer tensors in `may_keep` of {memory}"
    dims = [
        f"{component.name}.{dim.name}"
        for component in choice.fused_einsum.space.problem.components
        for dim in component.spatial
        if dim.fanout > 1
    ]
    if dims:
        yield f"`loop_bounds` on {', '.join(dims)}"


def _freest_memory(choice: OnChipChoice) -> str | None:
    """Return the memory with most tensors that only some placements keep; None if none has any."""
    placements = [dict(p.kept_tensors) for p in choice.placements]
    names = dict.fromkeys(name for kept in placements for name in kept)
    free: dict[str, int] = {}
    for name in names:
        sets = [frozenset(kept.get(name, ())) for kept in placements]
        free[name] = len(frozenset.union(*sets) - frozenset.intersection(*sets))
    freest = max(names, key=lambda name: free[name], default=None)
    return freest if freest is not None and free[freest] else None
