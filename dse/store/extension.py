"""Extend a run: more trials, more values of knobs, another sampler, failed trials once more.

What was tried stays, with its numbers. `env.json` keeps each change with the number of the first
batch after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.source import load_document
from tilewright.arch.names import close_names, did_you_mean
from tilewright.dse.models.evaluator import Attempt
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import ENVIRONMENT, SPEC, TRIALS, RunDirectory, TrialLog
from tilewright.dse.run.study_loop import counted
from tilewright.dse.store.known_outcomes import known_outcomes
from tilewright.dse.store.safe_files import RunError, pretty_json, write_atomically
from tilewright.dse.store.trial_line import line_of, trial_of
from tilewright.dse.study.changed_keys import replaced
from tilewright.dse.study.design_space import Space, Value
from tilewright.dse.study.knobs import labels_of
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_stored_study, load_study

_BEFORE_RETRY = "trials.before-retry.jsonl"
_MAY_CHANGE = ("search.sampler", "search.options", "search.population", "search.batch",
               "search.limit_s", "search.limit_memory")  # fmt: skip
_VALUES = (".values", ".range", ".pow2", ".step")


@dataclass(frozen=True, slots=True)
class Changes:
    """How a run is to go on: `trials` in all (None: as before); `settings`: other values by path.

    Settings may change `search.` (sampler, options, population, batch, limits), and the values of
    knobs (`space.arch.Buffer.size.values`), where every value that was tried must stay. `retry`:
    evaluate the trials again that failed, or hit a defect, and those after them.
    """

    trials: int | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)
    retry: bool = False


def spec_text(resolved: Mapping[str, Any]) -> str:
    """Return a study as the YAML text of a study file, with all defaults filled in."""
    import yaml

    text: str = yaml.safe_dump(dict(resolved), sort_keys=False, allow_unicode=True, width=100)
    return "# The study as it ran: a study file itself, with all defaults filled in.\n" + text


def extend_run(run: RunDirectory, changes: Changes) -> None:
    """Change the study of a run, and note it in env.json.

    Raises SpecError for a change that a run cannot take; RunError if the run has other trials than
    the changed study allows.
    """
    if changes == Changes():
        return
    _check_islands(run, changes)
    with TrialLog(run):  # no other process is running the study
        trials = run.repair()
        if changes.retry:
            trials = _without_failures(run, trials)
    settings = _settings_of(changes, load_stored_study(run.path / SPEC).space)
    if not settings:
        return
    data: Any = load_document(run.path / SPEC).data
    changed = _with_settings(data, settings)
    spec = _checked_study(run, changed, trials)
    if changes.trials is not None:
        _check_length(spec, trials)
    environment = run.environment()
    note = {
        "batch": trials[-1].batch + 1 if trials else 0,
        "changed": {key: str(value) for key, value in settings.items()},
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    environment["spec"] = changed
    environment["extensions"] = [*environment.get("extensions", []), note]
    write_atomically(run.path / ENVIRONMENT, pretty_json(environment))
    write_atomically(run.path / SPEC, spec_text(changed))


def _settings_of(changes: Changes, space: Space) -> dict[str, Any]:
    """Return the changed settings by path. Raises SpecError for one that a run cannot take."""
    settings: dict[str, Any] = {}
    for key, value in changes.settings.items():
        if key in _MAY_CHANGE:
            settings[key] = value
        elif key.startswith("space.") and key.endswith(_VALUES):
            knob, _, kind = key.removeprefix("space.").rpartition(".")
            settings[f"space.{_path_of(knob, space)}.{kind}"] = value
        else:
            raise _unchangeable(key, space)
    if changes.trials is not None:
        settings["search.trials"] = changes.trials
    if "search.sampler" in settings:  # the options were those of the sampler before
        settings.setdefault("search.options", {})
    return settings


def _unchangeable(key: str, space: Space) -> SpecError:
    """Return the error for a setting that a run cannot take; it says how a knob is written."""
    knob = key.removeprefix("space.")
    paths = dict(zip(labels_of(space), space.paths, strict=True))
    if knob in paths or knob in space.paths:
        path = paths.get(knob, knob)
        return SpecError(
            f"--add {key}: this does not say how the values of the knob are given",
            instead=f"space.{path}.values='[…]', or .pow2, .range or .step, with the old values"
            " among the new ones",
        )
    close = close_names(key, _MAY_CHANGE)
    return SpecError(
        f"--add {key}: a run cannot change this",
        instead=f"did you mean {' or '.join(close)}?"
        if close
        else f"one of {', '.join(_MAY_CHANGE)}, space.<knob>.values, or a new run",
    )


def _path_of(knob: str, space: Space) -> str:
    """Return the path of a knob that goes by its path or label; SpecError if there is none."""
    paths = dict(zip(labels_of(space), space.paths, strict=True))
    if knob in space.paths or knob in paths:
        return paths.get(knob, knob)
    raise SpecError(
        f"--add space.{knob}: the run has no such knob",
        instead=did_you_mean(knob, [*paths, *space.paths]) or f"one of {', '.join(paths)}",
    )


def _with_settings(data: Any, settings: Mapping[str, Any]) -> Any:
    """Return a study's data with other settings; new values of a knob take the place of all old."""
    changed = replaced(data, {})
    for key in settings:
        if key.startswith("space."):
            knob, _, kind = key.removeprefix("space.").rpartition(".")
            fields = ("name", "range") if kind == "step" else ("name",)
            item = {k: v for k, v in changed["space"][knob].items() if k in fields}
            changed = {**changed, "space": {**changed["space"], knob: item}}
    return replaced(changed, settings)


def _checked_study(run: RunDirectory, changed: Any, trials: Sequence[Trial]) -> StudySpec:
    """Return the changed study, whose space has all trials of the run. Raises SpecError."""
    draft = run.path / f".next.{SPEC}"
    try:
        write_atomically(draft, spec_text(changed))
        spec = load_study(draft)
        for trial in trials:
            spec.space.choice(trial.point)
    except SpecError as error:
        raise SpecError(
            f"the run cannot go on so: {error.what}",
            where=Where("--add", path=error.where.path if error.where else ""),
            value=error.value,
            instead=f"{error.instead}, and the values before: new ones take the place of all old"
            if "no such value" in error.what
            else error.instead,
        ) from None
    finally:
        draft.unlink(missing_ok=True)
    return spec


def since_of(environment: Mapping[str, Any]) -> int:
    """Return the first batch that the present sampler of a run proposed."""
    batches = [int(note["batch"]) for note in environment.get("extensions", [])]
    return max(batches, default=0)


def _check_islands(run: RunDirectory, changes: Changes) -> None:
    """Raise RunError if a run of several islands is to go on with another search."""
    islands = load_stored_study(run.path / SPEC).islands
    if islands > 1 and (changes.settings or changes.retry):
        raise RunError(
            "a run of islands goes on with the same search",
            instead="--trials N alone, or a new run with --reuse of this one",
        )


def _check_length(spec: StudySpec, trials: Sequence[Trial]) -> None:
    """Raise RunError if a study allows fewer designs than have been tried."""
    designs = counted(trials)
    if spec.trials < designs:
        raise RunError(
            "the run has more trials already",
            value=spec.trials,
            instead=f"--trials above {designs}",
        )


def outcomes_before(run: RunDirectory) -> dict[str, Attempt]:
    """Return what trials had brought that a retry took out of the record, by key."""
    path = run.path / _BEFORE_RETRY
    trials: list[Trial] = []
    for line in path.read_bytes().split(b"\n") if path.is_file() else ():
        try:
            trials.append(trial_of(line.decode()))
        except ValueError:  # the empty last line, or a damaged one: evaluated again
            continue
    return known_outcomes(trials)


def _without_failures(run: RunDirectory, trials: list[Trial]) -> list[Trial]:
    """Take the first batch with a failure, and those after it, out of the record.

    Their outcomes stay in a file beside it: what did not fail is not evaluated again.
    """
    failed = [trial.batch for trial in trials if trial.status in ("failed", "error")]
    if not failed:
        return trials
    trials_before = [trial for trial in trials if trial.batch < failed[0]]
    rest = trials[len(trials_before) :]
    with (run.path / _BEFORE_RETRY).open("ab") as file:
        file.write("".join(line_of(trial) + "\n" for trial in rest).encode())
    write_atomically(run.path / TRIALS, "".join(line_of(trial) + "\n" for trial in trials_before))
    return trials_before
