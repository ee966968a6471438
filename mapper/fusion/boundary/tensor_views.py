"""Where Einsums see one tensor differently: in other widths, or through other windows.

A tile in a Storage node that several Einsums use has the width that the last of them gave it, and
the size of the largest tile that any of them keeps there (model/capacity.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.workload.einsum import Einsum

Run = tuple[Einsum, FlatArch]
_STREAMS = {"irrelevant": 0, "partial": 1, "relevant": 2}  # how far a walk down from a holder goes


def widths_of(runs: Sequence[Run], memory: str, tensor: str) -> dict[str, float]:
    """Return the bits per value of a tensor in a memory, for each Einsum that uses both."""
    found: dict[str, float] = {}
    for einsum, flat in runs:
        held = [c for c in flat.components if isinstance(c, Memory) and c.name == memory]
        if held and tensor in einsum.tensors:
            access = einsum.access(tensor)
            width = float(held[0].bits_per_value.get(tensor, access.bits_per_value))
            found[einsum.name] = max(width, found.get(einsum.name, 0.0))
    return found


def varied_widths_in(
    runs: Sequence[Run], memories: Iterable[str], boundaries: ExchangedTensors
) -> frozenset[str]:
    """Return the tensors of which Einsums hold a tile each in one of some memories, all of these in
    the width of whichever ran last, and do not see one width."""
    histories = _width_histories(runs, memories, boundaries)
    return frozenset(tensor for tensor, widths in histories if len(set(widths)) > 1)


def bounded_widths_in(
    runs: Sequence[Run], memories: Iterable[str], boundaries: ExchangedTensors
) -> frozenset[str]:
    """Return those of them of which a third Einsum's tile counts in several widths before it runs:
    of that only the most is known (OwnTiles)."""
    histories = _width_histories(runs, memories, boundaries)
    return frozenset(tensor for tensor, widths in histories if len(set(widths[:-1])) > 1)


def _width_histories(
    runs: Sequence[Run], memories: Iterable[str], boundaries: ExchangedTensors
) -> Iterator[tuple[str, list[float]]]:
    """Yield contested tensors with the widths that Einsums see which may hold them in one place."""
    if boundaries.shares_tiles:
        return
    names = [einsum.name for einsum in boundaries.workload.einsums]
    for memory, tensor in product(memories, sorted(boundaries.contested)):
        widths = widths_of(runs, memory, tensor)
        for chain in boundaries.users_sharing_loops(tensor):
            yield tensor, [widths[names[i]] for i in chain if names[i] in widths]


def refuse_bounded_widths(runs: Sequence[Run], memory: str, boundaries: ExchangedTensors) -> None:
    """Refuse to count the usage of a memory where tiles count in widths that are only bounded."""
    for tensor in sorted(bounded_widths_in(runs, [memory], boundaries)):
        widths = set(widths_of(runs, memory, tensor).values())
        raise UnsupportedFeature(
            f"the usage of {memory} is not counted: three Einsums that may share loops use"
            f" {tensor}, in values of {_listed(widths)} bits there",
            instead=f"one width of {tensor} for all Einsums but the last, or leave that usage out",
        )


def refuse_unclear_tiles(runs: Sequence[Run], memory: str, boundaries: ExchangedTensors) -> None:
    """Refuse to count the usage of a memory where the room of a tile is only bounded.

    Einsums that keep a tile above loops that they share count as if both kept it where the first
    walk down ends. That is exact where the tile of that one is the larger one, in one width.
    """
    for tensor in sorted(boundaries.varied_windows if boundaries.shares_tiles else ()):
        widths = set(widths_of(runs, memory, tensor).values())
        if len(widths) > 1 or _may_stream_larger_tile(boundaries, tensor):
            raise UnsupportedFeature(
                f"the usage of {memory} is not counted: Einsums that may share loops see {tensor}"
                " through different windows, none of which is always the larger one",
                instead="leave that usage out",
            )


def refuse_copied_widths(runs: Sequence[Run], memory: str, boundaries: ExchangedTensors) -> None:
    """Refuse to count tensors of a copy in several widths: which of them are there it decides."""
    copies = [einsum for einsum in boundaries.workload.einsums if einsum.is_copy]
    for tensor in dict.fromkeys(tensor for einsum in copies for tensor in einsum.tensors):
        widths = set(widths_of(runs, memory, tensor).values())
        if len(widths) > 1:
            raise UnsupportedFeature(
                f"the usage of {memory} is not counted: {tensor}, which is copied, has values of"
                f" {_listed(widths)} bits there",
                instead=f"one width of {tensor} for all Einsums, or leave that usage out",
            )


def _listed(widths: set[float]) -> str:
    return " and ".join(f"{width:g}" for width in sorted(widths))


def _may_stream_larger_tile(boundaries: ExchangedTensors, tensor: str) -> bool:
    """Tell whether one user may stream a tile further than another whose tile is not larger."""
    return any(
        _streams_further(boundaries, tensor, pair)
        and not _tile_never_larger(boundaries, tensor, pair)
        for pair in permutations(boundaries.users[tensor], 2)
    )


def _streams_further(boundaries: ExchangedTensors, tensor: str, pair: tuple[int, int]) -> bool:
    """Tell whether the walk of the first user may pass a loop that stops the second."""
    one, two = (
        {
            name: _STREAMS[boundaries.workload.einsums[number].access(tensor).relevance(variable)]
            for variable, name in boundaries.loop_names[number].items()
        }
        for number in pair
    )
    return any(one[name] > two[name] for name in one.keys() & two.keys())


def _tile_never_larger(boundaries: ExchangedTensors, tensor: str, pair: tuple[int, int]) -> bool:
    """Tell whether the first user's tile is never larger than the second's, in any rank.

    Loops that both have may cut it, down to 1; the others stand below.
    """
    names = [boundaries.loop_names[number] for number in pair]
    einsums = [boundaries.workload.einsums[number] for number in pair]
    common = set(names[0].values()) & set(names[1].values())
    ranks: dict[str, dict[str, int]] = {}
    least: dict[str, int] = {}
    bounds: dict[str, int] = {}
    for sign, einsum, own in zip((1, -1), einsums, names, strict=True):
        for rank, form in einsum.access(tensor).projection:
            terms = ranks.setdefault(rank, {})
            least[rank] = least.get(rank, 0) + sign * form.least
            for variable, factor in form.terms:
                name = own[variable]
                terms[name] = terms.get(name, 0) + sign * abs(factor)
                bounds[name] = einsum.bounds[variable]
    more = (
        least[rank]
        + sum(
            max(factor, 0 if name in common else factor) * (bounds[name] - 1)
            for name, factor in terms.items()
        )
        for rank, terms in ranks.items()
    )
    return all(values <= 0 for values in more)
