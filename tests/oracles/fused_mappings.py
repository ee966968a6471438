"""Fused mappings of small workloads, enumerated: a slow twin of the cascade search.

Two memories (the outermost backs everything else, the inner one may back intermediates), at most
one more that keeps a fixed set, lanes right above that or the Compute and above the inner memory or
on it, and one Compute. `fused_lists.py` writes every list of nodes of each Einsum, `fused_owns.py`
scores them alone, `fused_trees.py` merges those that share loops; here the model scores each tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product

from figures import Row, row_of, unbeaten
from fused_lists import INNER, LOW, OUTER, on_chip_candidates
from fused_owns import Own, Subject, owns
from fused_trees import arranged, whole

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flattening import flatten
from tilewright.mapper.mapping.mapping import Mapping, Storage
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import evaluate_flat, score_mapping
from tilewright.mapper.model.paths.path import Hold, Path, paths_of
from tilewright.mapper.model.paths.view import make_view
from tilewright.mapper.verification.verification import violations
from tilewright.mapper.workload.errors import InfeasibleMapping

Chosen = tuple[tuple[Own, ...], list[int]]  # one list per Einsum; loops that neighbours share


def combinations_of(choices: list[list[Own]]) -> Iterator[tuple[Own, ...]]:
    """Yield the choices that agree about every tensor on chip."""

    def agree(first: Own, second: Own) -> bool:
        return all(
            second.chip[t] == d and first.loops[:d] == second.loops[:d]
            for t, d in first.chip.items()
            if t in second.chip
        )

    def extend(done: tuple[Own, ...]) -> Iterator[tuple[Own, ...]]:
        if len(done) == len(choices):
            yield done
            return
        for own in choices[len(done)]:
            if all(agree(earlier, own) for earlier in done):
                yield from extend((*done, own))

    yield from extend(())


VALUES: dict[str, Callable[[float, float], float]] = {
    "energy": lambda energy, latency: energy,
    "latency": lambda energy, latency: latency,
    "edp": lambda energy, latency: energy * latency,
}


def fused_mappings(subject: Subject, limit: int) -> list[Chosen] | None:
    """Return every choice of lists with the loops it shares; None if there are too many."""
    einsums = subject.workload.einsums
    candidates = on_chip_candidates(subject.workload)
    found: list[Chosen] = []
    shallow, deep = ("", INNER), ("", INNER, LOW)
    places = [deep if subject.deep and t not in subject.not_low else shallow for t in candidates]
    for memories in product(*places):
        chip = {t: memory for t, memory in zip(candidates, memories, strict=True) if memory}
        choices = [owns(subject, einsum, chip) for einsum in einsums]
        for chosen in combinations_of(choices):
            depths = {t: d for own in chosen for t, d in own.chip.items()}
            shared = [
                max((depths[t] for t in chip if candidates[t][0] <= b < candidates[t][-1]),
                    default=0)
                for b in range(len(chosen) - 1)
            ]  # fmt: skip
            found.append((chosen, shared))
            if len(found) > limit:
                return None
    return found


def scored_whole(subject: Subject, chosen: Chosen) -> Iterator[tuple[Mapping, Score]]:
    """Yield the mappings that fit with the model's word on them: several where copies take part.

    Under the default conventions only those that compute the workload are in the mapspace.
    """
    owns, shared = chosen
    mapping = whole(subject.workload, owns, shared)
    if mapping is None:
        return
    pairs = zip(owns, subject.workload.einsums, strict=True)
    if subject.conventions == "default" and violations(subject.workload, mapping):
        return
    for one in arranged(mapping, [own for own, einsum in pairs if einsum.is_copy]):
        with suppress(InfeasibleMapping):
            if subject.deep or in_given_order(subject):
                check_in_order(subject, one, owns)
            yield one, score_mapping(subject.arch, subject.workload, one, subject.conventions)


def in_given_order(subject: Subject) -> bool:
    """Tell whether a memory says in which order its holders stand, and that order means something.

    A tensor of several Einsums stands above all that each holds for itself, whatever the order in
    their lists. Read from the tree, the order may be one that the options forbid.
    """
    if subject.conventions != "accelforge":
        return False
    (flat,) = flatten(subject.arch, subject.workload.scope(subject.workload.einsums[0]))
    memories = (c for c in flat.components if isinstance(c, Memory))
    return any(memory.tensors.resolve({}).tensor_order_options for memory in memories)


def check_in_order(subject: Subject, mapping: Mapping, owns: tuple[Own, ...]) -> None:
    """Raise InfeasibleMapping where the tiles do not fit that each Einsum keeps in its own list.

    In the tree a tensor of several Einsums stands above what an outer memory holds for one of them,
    with no loop between. Under accelforge that says how far the tile of the other one shrinks.
    """
    runs = []
    for path, own in zip(paths_of(mapping), owns, strict=True):
        einsum = subject.workload.einsum(path.einsum)
        (flat,) = flatten(subject.arch, subject.workload.scope(einsum))
        listed = [(n.tensors[0], n.component) for n in own.nodes if isinstance(n, Storage)]
        places, run = [], []
        for place, step in enumerate(path.steps):
            if isinstance(step, Hold):
                run.append(place)
                continue
            places += [*in_order(path, run, listed), place]
            run = []
        places += in_order(path, run, listed)
        steps = tuple(path.steps[place] for place in places)
        origins = tuple(path.origins[place] for place in places)
        ordered = replace(path, steps=steps, origins=origins)
        runs.append((ordered, make_view(einsum, flat)))
    evaluate_flat(runs, conventions_called(subject.conventions))


def in_order(path: Path, run: list[int], listed: list[tuple[str, str]]) -> list[int]:
    """Sort places of holders as a list has them; those of the outermost memory come first."""

    def number(place: int) -> int:
        step = path.steps[place]
        assert isinstance(step, Hold)
        key = step.tensor, step.component
        return listed.index(key) if key in listed else -1

    return sorted(run, key=number)


def best_fused(
    subject: Subject, objective: str, limit: int = 200_000
) -> tuple[float, Mapping | None] | None:
    """Return the least value over all fused and unfused mappings; None if there are too many."""
    found = fused_mappings(subject, limit)
    if found is None:
        return None

    def value(chosen: tuple[Own, ...]) -> float:
        latency = sum(own.latency for own in chosen)
        return VALUES[objective](sum(own.energy for own in chosen), latency)

    for chosen, shared in sorted(found, key=lambda one: value(one[0])):
        answer = next(scored_whole(subject, (chosen, shared)), None)
        if answer is None:
            continue
        mapping, score = answer
        assert abs(VALUES[objective](score.energy, score.latency) / value(chosen) - 1) < 1e-9
        return value(chosen), mapping
    return float("inf"), None


def least_fused(subject: Subject, objective: str, limit: int = 200_000) -> float | None:
    """Return the least value alone, infinite where nothing fits; None if there are too many."""
    found = best_fused(subject, objective, limit)
    return None if found is None else found[0]


def front_fused(subject: Subject, limit: int = 200_000) -> list[tuple[float, float]] | None:
    """Return the Pareto points (energy, latency) of all mappings; None if there are too many."""
    found = fused_mappings(subject, limit)
    if found is None:
        return None
    totals = [
        (sum(own.energy for own in chosen), sum(own.latency for own in chosen))
        for chosen, _ in found
    ]
    front: list[tuple[float, float]] = []
    for number in sorted(range(len(found)), key=totals.__getitem__):
        if front and totals[number][1] >= front[-1][1] * (1 - 1e-12):
            continue
        if next(scored_whole(subject, found[number]), None) is None:
            continue
        if front and totals[number][0] <= front[-1][0] * (1 + 1e-12):
            front.pop()
        front.append(totals[number])
    return front


def rows_fused(subject: Subject, limit: int) -> list[Row] | None:
    """Return the rows of all mappings that fit, whatever memories they use; None if too many."""
    found = fused_mappings(replace(subject, low=True), limit)
    if found is None:
        return None
    scores = (score for chosen in found for _, score in scored_whole(subject, chosen))
    return unbeaten(row_of(score, (OUTER, INNER, LOW)) for score in scores)
