"""The rounds of islands: how much each tries, what it gets from its neighbour, one record of all.

An island is a search of the study with a seed of its own. It depends on its seed, the rounds before
and nothing else, so that the bytes of a run depend neither on workers nor on kills.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError, Where
from tilewright.dse.run.record import Trial, front_of
from tilewright.dse.run.rundir import TRIALS, RunDirectory, TrialLog
from tilewright.dse.run.study_loop import designs_to_go, distinct
from tilewright.dse.sampling.sampler_names import SEQUENCES
from tilewright.dse.store.safe_files import RunError, pretty_json, read_json, write_atomically
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import StudySpec

ISLANDS = "islands"
_ROUNDS = "rounds.json"
_PATIENCE = 5.0  # seconds
_SEED_OF_ISLANDS = 0x15  # tells the seeds of islands from those of batches


@dataclass(frozen=True, slots=True)
class IslandRound:
    """What one island does in a round.

    `first`: number of its first batch; `target`: different designs that it has tried at the end,
    guests among them; `guests`: designs from the front of its neighbour, which it tries first.
    """

    first: int
    target: int
    guests: tuple[Point, ...] = ()


Round = tuple[IslandRound, ...]
"""A round, by island."""


def island_directory(run: RunDirectory, island: int) -> RunDirectory:
    """Return the directory with the record of one island."""
    return RunDirectory(run.path / ISLANDS / f"{island:03d}")


def take_islands(run: RunDirectory, count: int) -> None:
    """Make the directories of the islands that are not there yet, and repair the others.

    The processes of a leader that was killed end within a second; RunError if they do not.
    """
    for island in range(count):
        directory = island_directory(run, island)
        directory.path.mkdir(parents=True, exist_ok=True)
        (directory.path / TRIALS).touch()
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                with TrialLog(directory):
                    directory.repair()
                break
            except RunError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


def read_rounds(run: RunDirectory) -> list[Round]:
    """Return the rounds that a run has begun. Raises SpecError for a damaged file."""
    path = run.path / ISLANDS / _ROUNDS
    if not path.exists():
        return []
    try:
        return [tuple(map(_island_round, each)) for each in read_json(path)["rounds"]]
    except (KeyError, TypeError, ValueError) as error:
        raise SpecError(
            f"{_ROUNDS} is damaged: {error}",
            where=Where(str(path)),
            instead="put back the file as the run wrote it",
        ) from None


def _island_round(data: Mapping[str, Any]) -> IslandRound:
    return IslandRound(int(data["first"]), int(data["target"]), tuple(map(dict, data["guests"])))


def write_rounds(run: RunDirectory, rounds: Sequence[Round]) -> None:
    """Write down the rounds, before the last of them begins."""
    data = [
        [{"first": r.first, "target": r.target, "guests": list(map(dict, r.guests))} for r in each]
        for each in rounds
    ]
    write_atomically(run.path / ISLANDS / _ROUNDS, pretty_json({"rounds": data}))


def next_round(
    spec: StudySpec, trials: Sequence[Trial], islands: Sequence[Sequence[Trial]]
) -> Round:
    """Return the next round of a study.

    `trials`: of the run so far; `islands`: those of each island. Together they try at most as many
    designs as the study lacks, each at most `spec.migration`. A sampler that learns gets designs of
    the front of the island before it, for at most half of a batch.
    """
    lacking = designs_to_go(spec, trials)
    share, rest = divmod(lacking, spec.islands)
    planned: list[IslandRound] = []
    for number, tried in enumerate(islands):
        count = min(spec.migration, share + (number < rest))
        first = tried[-1].batch + 1 if tried else 0
        guests = _guests(spec, tried, islands[number - 1]) if count else ()
        planned.append(IslandRound(first, distinct(tried) + count + len(guests), guests))
    return tuple(planned)


def _guests(
    spec: StudySpec, trials: Sequence[Trial], neighbour: Sequence[Trial]
) -> tuple[Point, ...]:
    """Return designs of the neighbour's front that an island has not tried, spread over it."""
    if spec.sampler in SEQUENCES:
        return ()
    tried = {trial.key for trial in trials}
    front = [trial for trial in front_of(neighbour, spec.objectives) if trial.key not in tried]
    most = max(1, spec.batch // 2)
    chosen = sorted({round(i * (len(front) - 1) / max(1, most - 1)) for i in range(most)})
    return tuple(dict(front[i].point) for i in chosen) if front else ()


def island_spec(spec: StudySpec, island: int, target: int) -> StudySpec:
    """Return the study as one island searches it, until it has tried `target` different designs."""
    import numpy as np

    seed = np.random.SeedSequence([spec.seed, island, _SEED_OF_ISLANDS]).generate_state(1)
    return replace(spec, seed=int(seed[0]), trials=target, target=target)


def joined(rounds: Sequence[Round], islands: Sequence[Sequence[Trial]]) -> list[Trial]:
    """Return the trials of all islands as those of one run: round after round, island by island.

    They get numbers and batches in this order; the field `sampler` of each names its island and its
    number there. A design that an earlier trial has tried gets that trial's result.
    """
    trials: list[Trial] = []
    originals: dict[str, Trial] = {}
    batch = -1
    for island, trial in _in_order(rounds, islands):
        last = trials[-1].sampler if trials else {}
        if (last.get("island"), last.get("batch")) != (island, trial.batch):
            batch += 1
        notes = {"island": island, "batch": trial.batch, "trial": trial.number}
        original = originals.get(trial.key)
        renumbered = replace(
            original or trial,
            number=len(trials),
            batch=batch,
            batch_size=trial.batch_size,
            baseline=trial.baseline,
            same_as=None if original is None else original.number,
            sampler=notes,
            refused=trial.refused,
        )
        originals.setdefault(trial.key, renumbered)
        trials.append(renumbered)
    return trials


def _in_order(
    rounds: Sequence[Round], islands: Sequence[Sequence[Trial]]
) -> Iterator[tuple[int, Trial]]:
    for number, each in enumerate(rounds):
        after = rounds[number + 1] if number + 1 < len(rounds) else None
        for island, (part, trials) in enumerate(zip(each, islands, strict=True)):
            end = after[island].first if after else len(trials)
            for trial in trials:
                if part.first <= trial.batch < end:
                    yield island, trial


def island_details(run: RunDirectory, trial: Trial) -> dict[str, Any] | None:
    """Return the details of a trial that its island has stored; None without."""
    island, number = trial.sampler.get("island"), trial.sampler.get("trial")
    if not isinstance(island, int) or not isinstance(number, int):
        return None
    return island_directory(run, island).details(number)


def lines_of(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n") if path.exists() else 0
