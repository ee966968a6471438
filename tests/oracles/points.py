"""The oracle of mapspaces that list their own mappings: each scored by the model."""

from __future__ import annotations

from itertools import islice

from figures import Make, Row, row_of, unbeaten

from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError


def of_points(
    make: Make, seed: int, limit: int, memories: tuple[str, ...] = ()
) -> list[Row] | None:
    """Return the rows of all mappings that the model accepts; None if there are more than `limit`.

    All ways to use less of the `memories` count, also where everything fits.
    """
    space = make(seed)
    if memories:
        space = space.with_crowded(space.crowded | frozenset(memories))
    mappings = list(islice(space, limit + 1))
    if len(mappings) > limit:
        return None
    judge = MappingScorer(space)
    rows = []
    for mapping in mappings:
        try:
            rows.append(row_of(judge.score(mapping), memories))
        except (InfeasibleMapping, MappingError):
            continue
    return unbeaten(rows)


def of_few_points(
    make: Make, seed: int, limit: int, memories: tuple[str, ...] = ()
) -> list[Row] | None:
    """Return the rows of `of_points`; None if more than `limit` mappings fit or do not."""
    space = make(seed)
    if memories:
        space = space.with_crowded(space.crowded | frozenset(memories))
    return None if space.size.points > limit else of_points(make, seed, limit, memories)
