"""The run directory: what a study writes, in an order that survives kill -9 at any moment."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tilewright.arch.errors import SpecError, Where
from tilewright.dse.run.record import Trial
from tilewright.dse.store.safe_files import (
    RunError,
    check_no_links,
    name_file,
    pretty_json,
    read_json,
    sync_directory,
    write_atomically,
)
from tilewright.dse.store.trial_line import line_of, trial_of
from tilewright.dse.study.study import StudySpec

TRIALS, TIMES, FRONT = "trials.jsonl", "times.jsonl", "front.json"
SPEC, ENVIRONMENT, REPORT, DETAILS = "spec.resolved.yaml", "env.json", "report.html", "details"
INPUTS = "inputs"
_WITH_METRICS = ("feasible", "violates")


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The directory that holds everything of one run of a study; `path` is where it lies.

    trials.jsonl has the trials and is the record of truth; all other files follow from it, or
    describe the study (spec.resolved.yaml) and its surroundings (env.json).
    """

    path: Path

    @classmethod
    def create(
        cls,
        path: Path,
        spec: str,
        environment: Mapping[str, object],
        inputs: Mapping[str, bytes] | None = None,
    ) -> RunDirectory:
        """Make a new run directory with the study and its environment, and no trials yet.

        `spec`: text of the resolved study file; `environment`: contents of env.json; `inputs`:
        contents of copies of the input files, by path in the directory. It appears at once, by a
        rename. Raises RunError if a run or any other file is there already.
        """
        run = cls(path)
        _check_free(run)
        # All at once, by a rename: a kill leaves a whole run or none.
        if not os.path.lexists(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        draft = _new_draft(path)
        try:
            draft.chmod(0o777 & ~_umask())
            for name, contents in (inputs or {}).items():
                (draft / name).parent.mkdir(parents=True, exist_ok=True)
                (draft / name).write_bytes(contents)
            write_atomically(draft / SPEC, spec)
            write_atomically(draft / ENVIRONMENT, pretty_json(environment))
            (draft / TRIALS).touch()
            _take_name(draft, run)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        sync_directory(path)
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Return the existing run in a directory.

        Raises RunError if there is none, if its trials.jsonl is missing, or if it holds a symbolic
        link.
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
        check_no_links(path)
        return run

    def exists(self) -> bool:
        """Return whether the directory holds a run: a resolved study file and env.json."""
        return (self.path / SPEC).exists() and (self.path / ENVIRONMENT).exists()

    def environment(self) -> dict[str, Any]:
        """Return the contents of env.json; SpecError if they are not as a run writes them."""
        environment = read_json(self.path / ENVIRONMENT)
        for key, (kind, words) in (_ENVIRONMENT | _MAYBE).items():
            value = environment.get(key)
            if key in _MAYBE and value is None:
                continue
            if not isinstance(value, kind) or not _all_fit(key, value):
                raise SpecError(
                    f"{ENVIRONMENT} is damaged: {key} must be {words}",
                    where=Where(str(self.path / ENVIRONMENT)),
                    instead="put back the file as the run wrote it",
                )
        return environment

    def front(self) -> dict[str, Any]:
        """Return the contents of front.json: the Pareto front and what led to it.

        Raises RunError if the run has not ended yet, SpecError if the file cannot be read.
        """
        if not (self.path / FRONT).exists():
            raise RunError(
                f"{self.path} has no {FRONT}: the run has not ended",
                instead=f"tilewright study resume {self.path}",
            )
        return read_json(self.path / FRONT)

    def details(self, number: int) -> dict[str, Any] | None:
        """Return the stored report details of a trial (loop nest, heat maps, ...) as JSON data.

        None if none are stored, or the file is damaged: they can be made again.
        """
        path = self.path / DETAILS / f"{number:06d}.json"
        if not path.exists():
            return None
        try:
            return read_json(path)
        except SpecError:
            return None

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

    def trials(self, spec: StudySpec | None = None) -> list[Trial]:
        """Return the trials of all complete lines of trials.jsonl, in order.

        An unfinished last line is left out. `spec`: the study, if they shall be checked to be of
        it. Raises SpecError for a damaged line, a wrong number, or a trial of another study.
        """
        return [trial for trial, _ in _read_trials(self.path / TRIALS, spec)]

    def seconds(self) -> dict[int, float]:
        """Return the seconds of each evaluation by trial number; damaged lines are left out."""
        seconds: dict[int, float] = {}
        path = self.path / TIMES
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                evaluations = json.loads(line)["evaluations"]
                seconds |= {int(number): float(value) for number, value in evaluations.items()}
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
        return seconds

    def repair(self, spec: StudySpec | None = None) -> list[Trial]:
        """Truncate trials.jsonl to whole batches, after a crash; return the trials that stay.

        Raises SpecError as `trials`.
        """
        recorded = _read_trials(self.path / TRIALS, spec)
        good, end, start = 0, 0, 0
        while start < len(recorded):
            size = recorded[start][0].batch_size
            batch = recorded[start : start + size]
            if len(batch) < size:
                break
            start = good = start + size
            end = batch[-1][1]
        for draft in self.path.glob(".*.draft"):  # of a process that was killed
            draft.unlink()
        with (self.path / TRIALS).open("r+b") as file:
            file.truncate(end)
            os.fsync(file.fileno())
        return [trial for trial, _ in recorded[:good]]


class TrialLog:
    """Writer of trials.jsonl: it appends whole batches, each by one write and one fsync.

    It holds a lock on the file; RunError if another process is running the study.
    """

    def __init__(self, run: RunDirectory) -> None:
        self._path, self._times = run.path / TRIALS, run.path / TIMES
        self._file: IO[bytes] = self._path.open("ab")
        _lock(self._file, run.path)

    def append(self, trials: Sequence[Trial], times: Mapping[str, object]) -> None:
        """Append a batch of trials; when this returns, it is on the disk.

        `times` is one record for the whole batch, a line of times.jsonl, which is not synced: its
        number, when it ended, its seconds, and the seconds of each evaluation by trial number.
        Raises RunError if the file was removed or replaced meanwhile: nothing would be kept;
        OSError with the path where there is no room.
        """
        self._check_there()
        try:
            self._file.write("".join(line_of(trial) + "\n" for trial in trials).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            name_file(error, self._path)
            raise
        with self._times.open("a", encoding="utf-8") as file:
            file.write(json.dumps(times) + "\n")

    def restore(self, trials: Sequence[Trial]) -> None:
        """Write the file anew where somebody removed it during the run; else do nothing."""
        if self._is_there() or not self._path.parent.is_dir() or os.path.lexists(self._path):
            return
        write_atomically(self._path, "".join(line_of(trial) + "\n" for trial in trials))
        self._file.close()
        self._file = self._path.open("ab")
        _lock(self._file, self._path.parent)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def _check_there(self) -> None:
        if not self._is_there():
            raise RunError(
                f"{self._path} was removed or replaced while the study ran",
                instead="put it back, or start a new run in another directory",
            )

    def close(self) -> None:
        """Close the file and release the lock."""
        self._file.close()

    def __enter__(self) -> TrialLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_trials(path: Path, spec: StudySpec | None) -> list[tuple[Trial, int]]:
    """Return each trial with the offset behind its line; a torn last line is left out.

    Raises SpecError for a damaged line, a number that does not count up, or a trial of another
    study.
    """
    recorded: list[tuple[Trial, int]] = []
    offset = 0
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1]):  # what follows the last newline is torn
        offset += len(line) + 1
        try:
            trial = trial_of(line.decode())
            if spec is not None:
                _check_of_study(trial, spec)
        except (ValueError, TypeError) as error:
            raise SpecError(
                f"a line of {TRIALS} is damaged: {error}",
                where=Where(str(path), number + 1),
                instead=f"put the line back, or keep the {number} before it (head -n {number}) and"
                " resume: the others are evaluated again",
            ) from error
        if trial.number != number:
            raise SpecError(
                f"{TRIALS} does not count up: trial {trial.number} stands on line {number + 1}",
                where=Where(str(path), number + 1),
                instead=f"put the lines back, or keep the {number} before it and resume",
            )
        recorded.append((trial, offset))
    return recorded


def _check_of_study(trial: Trial, spec: StudySpec) -> None:
    """Raise ValueError if a trial has other knobs, values or objectives than the study."""
    try:
        spec.space.choice(trial.point)
    except SpecError as error:
        raise ValueError(f"{error.what}; it is of another study") from None
    missing = [each.metric for each in spec.objectives if each.metric not in trial.metrics]
    if missing and trial.status in _WITH_METRICS:
        raise ValueError(f"it has no {missing[0]}; it is of another study")


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform; the refusal below is a courtesy, not a guarantee
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RunError(f"another process is running the study in {path}") from error


def _all_fit(key: str, values: Any) -> bool:
    """Tell whether all items of a list in env.json are what a run writes there."""
    fits = _ITEMS.get(key)
    return fits is None or all(fits(value) for value in values)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_extension(value: object) -> bool:
    """Tell whether a value of env.json says how the run was extended."""
    if not isinstance(value, dict) or type(value.get("batch")) is not int or value["batch"] < 0:
        return False
    changed = value.get("changed")
    return isinstance(changed, dict) and all(map(_is_text, changed.values()))


_MAYBE: dict[str, tuple[type, str]] = {
    "original": (dict, "the study as it was written, a mapping"),
    "origins": (dict, "paths, a mapping"),
    "study_file": (str, "text"),
    "evaluator": (str, "text"),
    "extensions": (
        list,
        "a list of mappings with batch, a number, and changed, a mapping of texts",
    ),
}
_ITEMS: dict[str, Callable[[object], bool]] = {"command": _is_text, "extensions": _is_extension}
_ENVIRONMENT: dict[str, tuple[type, str]] = {
    "spec": (dict, "the study, a mapping"),
    "files": (dict, "hashes by path, a mapping"),
    "settings": (dict, "a mapping"),
    "command": (list, "a list of texts"),
    "code": (str, "text"),
    **dict.fromkeys(("tilewright", "python", "platform", "started"), (str, "text")),
    "packages": (dict, "versions by name, a mapping"),
}


def _new_draft(path: Path) -> Path:
    """Return a new folder beside the directory of a run; OSError, with the run's path, if none."""
    try:
        made = tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".draft", dir=path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    return Path(made)


def _check_free(run: RunDirectory) -> None:
    path = run.path
    if run.exists():
        raise RunError(
            f"{path} holds a run already",
            instead=f"tilewright study resume {path}, or another --out",
        )
    if os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
        raise RunError(f"{path} exists and is not empty", instead="choose another --out")


def _take_name(draft: Path, run: RunDirectory) -> None:
    """Give a finished draft the name of the run; another process may have been faster."""
    try:
        draft.replace(run.path)
    except OSError:
        _check_free(run)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
