"""The run directory: what a study writes, in an order that survives kill -9 at any moment."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tilewright.arch.errors import SpecError, TilewrightError, Where
from tilewright.dse.run.record import Trial

TRIALS, TIMES, FRONT = "trials.jsonl", "times.jsonl", "front.json"
SPEC, ENVIRONMENT, REPORT, DETAILS = "spec.resolved.yaml", "env.json", "report.html", "details"


class RunError(TilewrightError):
    """A run directory cannot be used as asked: missing, taken, damaged, or of another study."""

    category = "run folder"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The directory that holds everything of one run of a study; `path` is where it lies.

    trials.jsonl has the trials and is the record of truth; all other files follow from it, or
    describe the study (spec.resolved.yaml) and its surroundings (env.json).
    """

    path: Path

    @classmethod
    def create(cls, path: Path, spec: str, environment: Mapping[str, object]) -> RunDirectory:
        """Make a new run directory with the study and its environment, and no trials yet.

        `spec`: text of the resolved study file; `environment`: contents of env.json. It appears at
        once, by a rename. Raises RunError if a run or any other file is there already.
        """
        run = cls(path)
        if run.exists():
            raise RunError(
                f"{path} holds a run already",
                instead=f"tilewright study resume {path}, or another --out",
            )
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError(f"{path} exists and is not empty", instead="choose another --out")
        # All at once, by a rename: a kill leaves a whole run or none.
        draft = path.with_name(f".{path.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        write_atomically(draft / SPEC, spec)
        write_atomically(draft / ENVIRONMENT, pretty_json(environment))
        (draft / TRIALS).touch()
        draft.replace(path)
        _sync_directory(path)
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Return the existing run in a directory.

        Raises RunError if there is none, or if its trials.jsonl is missing.
        """
        run = cls(path)
        if not run.exists():
            raise RunError(
                f"{path} is not the directory of a run (it has no {SPEC} or {ENVIRONMENT})",
                instead="the directory that `tilewright study run` printed",
            )
        if not (path / TRIALS).exists():
            raise RunError(
                f"{path / TRIALS} is missing: the run has lost its trials",
                instead="put it back, or start a new run in another directory",
            )
        return run

    def exists(self) -> bool:
        """Return whether the directory holds a run: a resolved study file and env.json."""
        return (self.path / SPEC).exists() and (self.path / ENVIRONMENT).exists()

    def environment(self) -> dict[str, Any]:
        """Return the contents of env.json; SpecError if it cannot be read."""
        return _read_json(self.path / ENVIRONMENT)

    def front(self) -> dict[str, Any]:
        """Return the contents of front.json: the Pareto front and what led to it.

        Raises RunError if the run has not ended yet, SpecError if the file cannot be read.
        """
        if not (self.path / FRONT).exists():
            raise RunError(
                f"{self.path} has no {FRONT}: the run has not ended",
                instead=f"tilewright study resume {self.path}",
            )
        return _read_json(self.path / FRONT)

    def details(self, number: int) -> dict[str, Any] | None:
        """Return the stored report details of a trial (loop nest, heat maps, ...) as JSON data.

        None if none are stored. Raises SpecError if the file cannot be read.
        """
        path = self.path / DETAILS / f"{number:06d}.json"
        return _read_json(path) if path.exists() else None

    def size_of_details(self, number: int) -> int:
        """Return the size in bytes of the stored report details of trial `number`, 0 without."""
        path = self.path / DETAILS / f"{number:06d}.json"
        return path.stat().st_size if path.exists() else 0

    def write_details(self, number: int, details: Mapping[str, object]) -> None:
        """Store the report details of trial `number` (loop nest, heat maps, timeline) as JSON."""
        (self.path / DETAILS).mkdir(exist_ok=True)
        text = json.dumps(details, ensure_ascii=False, allow_nan=False)
        write_atomically(self.path / DETAILS / f"{number:06d}.json", text + "\n")

    def keep_details(self, numbers: Sequence[int]) -> None:
        """Delete the stored report details (loop nest, heat maps, ...) of all trials but these.

        `numbers`: of the trials whose details stay.
        """
        file_names = {f"{number:06d}.json" for number in numbers}
        for path in sorted((self.path / DETAILS).glob("*.json")):
            if path.name not in file_names:
                path.unlink()

    def trials(self) -> list[Trial]:
        """Return the trials of all complete lines of trials.jsonl, in order.

        An unfinished last line is left out. Raises SpecError for a damaged line or a wrong number.
        """
        return [trial for trial, _ in _read_trials(self.path / TRIALS)]

    def repair(self, batch_size: Callable[[int], int]) -> list[Trial]:
        """Truncate trials.jsonl to whole batches, after a crash; return the trials that stay.

        `batch_size(number)`: how many trials that batch has. Raises SpecError for a damaged line.
        """
        recorded = _read_trials(self.path / TRIALS)
        good, end, start = 0, 0, 0
        while start < len(recorded):
            size = batch_size(recorded[start][0].batch)
            batch = recorded[start : start + size]
            if len(batch) < size:
                break
            start = good = start + size
            end = batch[-1][1]
        with (self.path / TRIALS).open("r+b") as file:
            file.truncate(end)
            os.fsync(file.fileno())
        return [trial for trial, _ in recorded[:good]]


class TrialLog:
    """Writer of trials.jsonl: it appends whole batches, each by one write and one fsync.

    It holds a lock on the file; RunError if another process is running the study.
    """

    def __init__(self, run: RunDirectory) -> None:
        self._times = run.path / TIMES
        self._file: IO[bytes] = (run.path / TRIALS).open("ab")
        _lock(self._file, run.path)

    def append(self, trials: Sequence[Trial], times: Mapping[str, object]) -> None:
        """Append a batch of trials; when this returns, it is on the disk.

        `times` is one record for the whole batch, a line of times.jsonl, which is not synced: its
        number, when it ended, its seconds, and the seconds of each evaluation by trial number.
        """
        self._file.write("".join(trial.to_line() + "\n" for trial in trials).encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        with self._times.open("a", encoding="utf-8") as file:
            file.write(json.dumps(times) + "\n")

    def close(self) -> None:
        """Close the file and release the lock."""
        self._file.close()

    def __enter__(self) -> TrialLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pretty_json(value: object) -> str:
    """Return a value as indented JSON text with a newline at its end.

    Raises ValueError for NaN or infinity.
    """
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_atomically(path: Path, text: str) -> None:
    """Write a text file as a whole or not at all, also if the process is killed.

    A device or a pipe is written to directly. Raises OSError with the path.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        draft = path.with_name(f".{path.name}.draft")
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        if error.filename is None:  # a full device does not say which one it is
            error.filename = str(path)
        raise


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(f"cannot read {path.name}: {error}", where=Where(str(path))) from error
    if not isinstance(value, dict):
        raise SpecError(f"{path.name} does not hold an object", where=Where(str(path)))
    return value


def _read_trials(path: Path) -> list[tuple[Trial, int]]:
    """Return each trial with the offset behind its line; a torn last line is left out."""
    recorded: list[tuple[Trial, int]] = []
    offset = 0
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1]):  # what follows the last newline is torn
        offset += len(line) + 1
        try:
            trial = Trial.from_line(line.decode())
        except (ValueError, TypeError) as error:
            raise SpecError(
                f"a line of {TRIALS} is damaged: {error}", where=Where(str(path), number + 1)
            ) from error
        if trial.number != number:
            raise SpecError(
                f"{TRIALS} does not count up: trial {trial.number} stands on line {number + 1}",
                where=Where(str(path), number + 1),
            )
        recorded.append((trial, offset))
    return recorded


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform; the refusal below is a courtesy, not a guarantee
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunError(f"another process is running the study in {path}") from error


def _sync_directory(path: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
