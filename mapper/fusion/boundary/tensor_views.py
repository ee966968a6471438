"""Find where Einsums see one tensor differently: in several widths, or through several windows.

A tile in a Storage node that several Einsums use has the width that the last of them sees, and
the size of the largest tile that any of them keeps there (model/occupancy/capacity.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath, ExchangedTensors
from tilewright.mapper.workload.errors import UnsupportedFeature

# how far the tile of a holder streams through a loop below: not, into the loop, past the loop
_STREAMS = {"irrelevant": 0, "partial": 1, "relevant": 2}


def widths_of(paths: Sequence[EinsumPath], memory: str, tensor: str) -> dict[str, float]:
    """Return the bits per value of a tensor in a memory, by the name of each Einsum that uses both.

    `paths`: each Einsum with the components to one of its computes. Where it has several computes
    the largest width counts.
    """
    widths: dict[str, float] = {}
    for einsum, flat in paths:
        memories = [c for c in flat.components if isinstance(c, Memory) and c.name == memory]
        if memories and tensor in einsum.tensors:
            access = einsum.access(tensor)
            width = float(memories[0].bits_per_value.get(tensor, access.bits_per_value))
            widths[einsum.name] = max(width, widths.get(einsum.name, 0.0))
    return widths


def varied_widths_in(
    paths: Sequence[EinsumPath], memories: Iterable[str], exchanged: ExchangedTensors
) -> frozenset[str]:
    """Return the contested tensors with several bits per value in one of some memories.

    A contested tensor is used by Einsums that may share loops through other tensors. Only for
    conventions under which each Einsum holds a tile of its own (`shares_tiles` is false), and all
    tiles take the width of the Einsum that ran last; otherwise the result is empty. `paths`: each
    Einsum with the components to one of its computes. `memories`: names.
    """
    histories = _width_histories(paths, memories, exchanged)
    return frozenset(tensor for tensor, widths in histories if len(set(widths)) > 1)


def bounded_widths_in(
    paths: Sequence[EinsumPath], memories: Iterable[str], exchanged: ExchangedTensors
) -> frozenset[str]:
    """Return the contested tensors whose tiles can only be bounded in bits, in some memories.

    Those are tensors that three Einsums or more use, which may share loops, with several bits per
    value among all but the last of them. A tile of the last one then counts in several widths while
    earlier Einsums run, of which the search knows only the largest. Empty where Einsums share one
    tile (`shares_tiles`). `paths`: each Einsum with the components to one of its computes.
    `memories`: names.
    """
    histories = _width_histories(paths, memories, exchanged)
    return frozenset(tensor for tensor, widths in histories if len(set(widths[:-1])) > 1)


def _width_histories(
    paths: Sequence[EinsumPath], memories: Iterable[str], exchanged: ExchangedTensors
) -> Iterator[tuple[str, list[float]]]:
    """Yield contested tensors with their bits per value, in the order in which Einsums use them.

    One pair (tensor, widths) for each of the memories and each group of users that may share loops.
    Nothing where Einsums share one tile.
    """
    if exchanged.shares_tiles:
        return
    names = [einsum.name for einsum in exchanged.workload.einsums]
    for memory, tensor in product(memories, sorted(exchanged.contested)):
        widths = widths_of(paths, memory, tensor)
        for group in exchanged.users_sharing_loops(tensor):
            yield tensor, [widths[names[i]] for i in group if names[i] in widths]


def refuse_bounded_widths(
    paths: Sequence[EinsumPath], memory: str, exchanged: ExchangedTensors
) -> None:
    """Raise UnsupportedFeature if widths of tiles only bound the usage of a memory.

    That is so for the tensors of `bounded_widths_in`: used by three Einsums that may share loops,
    in several bits per value. For searches that minimize or list the usage, which must be exact.
    `memory`: its name.
    """
    for tensor in sorted(bounded_widths_in(paths, [memory], exchanged)):
        widths = set(widths_of(paths, memory, tensor).values())
        raise UnsupportedFeature(
            f"the usage of {memory} is not counted: three Einsums that may share loops use"
            f" {tensor}, in values of {_listed(widths)} bits there",
            instead=f"one width of {tensor} for all Einsums but the last, or leave that usage out",
        )


def refuse_unclear_tiles(
    paths: Sequence[EinsumPath], memory: str, exchanged: ExchangedTensors
) -> None:
    """Raise UnsupportedFeature if sizes of tiles only bound the usage of a memory.

    Concerns contested tensors that Einsums see through different windows where they share one tile.
    The search counts both tiles as held where that of the first Einsum stops shrinking with loops.
    That is exact only if the Einsum whose tile shrinks less far needs the larger tile, and all
    Einsums see one width; otherwise the error is raised. `memory`: its name.
    """
    for tensor in sorted(exchanged.varied_windows if exchanged.shares_tiles else ()):
        widths = set(widths_of(paths, memory, tensor).values())
        if len(widths) > 1 or _may_stream_larger_tile(exchanged, tensor):
            raise UnsupportedFeature(
                f"the usage of {memory} is not counted: Einsums that may share loops see {tensor}"
                " through different windows, none of which is always the larger one",
                instead="leave that usage out",
            )


def refuse_copied_widths(
    paths: Sequence[EinsumPath], memory: str, exchanged: ExchangedTensors
) -> None:
    """Raise UnsupportedFeature if a tensor of a copy Einsum has several bits per value in a memory.

    The mapping of the copy decides which of its tensors are there, so that the search cannot tell
    in advance in which width they count. For searches that minimize or list the usage. `memory`:
    its name.
    """
    copies = [einsum for einsum in exchanged.workload.einsums if einsum.is_copy]
    for tensor in dict.fromkeys(tensor for einsum in copies for tensor in einsum.tensors):
        widths = set(widths_of(paths, memory, tensor).values())
        if len(widths) > 1:
            raise UnsupportedFeature(
                f"the usage of {memory} is not counted: {tensor}, which is copied, has values of"
                f" {_listed(widths)} bits there",
                instead=f"one width of {tensor} for all Einsums, or leave that usage out",
            )


def _listed(widths: set[float]) -> str:
    return " and ".join(f"{width:g}" for width in sorted(widths))


def _may_stream_larger_tile(exchanged: ExchangedTensors, tensor: str) -> bool:
    """Tell whether some user may stream its tile further than another whose tile may be smaller.

    To stream: the tile shrinks with a loop that stands below the Storage node.
    """
    return any(
        _streams_further(exchanged, tensor, first, second)
        and not _tile_never_larger(exchanged, tensor, first, second)
        for first, second in permutations(exchanged.users[tensor], 2)
    )


def _streams_further(exchanged: ExchangedTensors, tensor: str, first: int, second: int) -> bool:
    """Tell whether some common loop shrinks the first user's tile more than the second user's."""
    streams, stops = (
        {
            name: _STREAMS[exchanged.workload.einsums[number].access(tensor).relevance(variable)]
            for variable, name in exchanged.loop_names[number].items()
        }
        for number in (first, second)
    )
    return any(streams[name] > stops[name] for name in streams.keys() & stops.keys())


def _tile_never_larger(exchanged: ExchangedTensors, tensor: str, first: int, second: int) -> bool:
    """Tell whether the first user's tile is at most as long as the second's in each rank.

    True only if that holds for all tile shapes (length: positions covered). Loops over variables of
    both may cut both tiles, down to one value; other variables have their whole bounds.
    """
    names = [exchanged.loop_names[number] for number in (first, second)]
    common = set(names[0].values()) & set(names[1].values())
    factors: dict[str, dict[str, int]] = {}  # per rank and loop, of the first less the second
    excess: dict[str, int] = {}  # per rank: positions of the first less the second
    bounds: dict[str, int] = {}
    for sign, number in ((1, first), (-1, second)):
        einsum, own_names = exchanged.workload.einsums[number], exchanged.loop_names[number]
        for rank, form in einsum.access(tensor).projection:
            terms = factors.setdefault(rank, {})
            excess[rank] = excess.get(rank, 0) + sign * form.point_extent
            for variable, factor in form.terms:
                name = own_names[variable]
                terms[name] = terms.get(name, 0) + sign * abs(factor)
                bounds[name] = einsum.bounds[variable]
    for rank, terms in factors.items():
        for name, factor in terms.items():
            excess[rank] += max(factor, 0 if name in common else factor) * (bounds[name] - 1)
    return all(positions <= 0 for positions in excess.values())
