"""A copy of a run in a storage of Optuna, which optuna-dashboard opens.

The run's own trials.jsonl stays the record of truth: a mirror that cannot be written is left behind
with a note, and brought up to date by the next resume with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.arch.errors import TilewrightError
from tilewright.arch.quantities import some
from tilewright.dse.command.console import say, without_password
from tilewright.dse.models.evaluator import NOTHING_SHARED, Sharing
from tilewright.dse.run.record import Trial
from tilewright.dse.run.study_loop import Watcher
from tilewright.dse.run.trials.evaluated_trial import excess_of
from tilewright.dse.study.design_space import Dimension
from tilewright.dse.study.study import StudySpec

_SCHEMES = ("sqlite://", "postgresql", "mysql")
_POSTGRESQL = "postgresql://"
_DRIVERS = ("psycopg2", "psycopg")


class Mirror:
    """Copies the trials of a run into an Optuna study; a watcher of the run.

    `target`: URL of a database (`sqlite:///study.db`, `postgresql://…`) or the path of a journal
    file (`journal.log`); `name`: of the Optuna study. Raises TilewrightError if it cannot be
    opened, or has the trials of another run under that name.
    """

    def __init__(self, spec: StudySpec, target: str, name: str) -> None:
        self._spec = spec
        self._target = without_password(target)
        self._name, self._checked = name, False
        self._distributions = {d.path: _distribution(d) for d in spec.space.dimensions}
        try:
            self._study = _opened(spec, target, name)
            self._count = len(self._study.get_trials(deepcopy=False))
        except _storage_errors() as error:
            raise TilewrightError(
                f"the mirror cannot be opened: {_first_line(error)}",
                value=self._target,
                instead="sqlite:///study.db, postgresql://…, or the path of a journal.log",
            ) from error

    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Copy the trials that the mirror does not have yet.

        If that fails, a note is printed on standard error, and the next batch tries again. Raises
        TilewrightError if the mirror has those of another run.
        """
        del seconds, sharing
        base = next((t.metrics for t in trials[:1] if t.baseline), None)
        first = self._count
        copies = [self._frozen(t, base) for t in trials[first:]]
        try:
            if not self._checked:
                self._check(trials)
            self._study.add_trials(copies[self._count - first :])
            self._count = len(trials)
        except _storage_errors() as error:
            self._checked = False  # it may have some of the trials
            say(f"note: the mirror {self._target} is left behind: {_first_line(error)}")

    def evaluated(self, done: int, count: int) -> None:
        """Do nothing: a mirror has whole batches only."""

    def check_new(self) -> None:
        """Check that nothing was copied yet; else TilewrightError: they are of another run."""
        if self._count:
            raise self._of_another_run()

    def _check(self, trials: Sequence[Trial]) -> None:
        """Check that the trials in the mirror are the first ones of this run, and count them."""
        there = self._study.get_trials(deepcopy=False)
        pairs = zip(there, trials, strict=False)
        if len(there) > len(trials) or any(t.params != dict(ours.point) for t, ours in pairs):
            raise self._of_another_run()
        self._count, self._checked = len(there), True

    def _of_another_run(self) -> TilewrightError:
        trials = some(self._count, "trial")
        return TilewrightError(
            f"the mirror has a study {self._name} already, with {trials} of another run",
            value=self._target,
            instead="another mirror, or a run directory of another name (--out), which names it",
        )

    def _frozen(self, trial: Trial, base: Any) -> Any:
        from optuna.trial import TrialState, create_trial

        notes: dict[str, Any] = {
            "number": trial.number,
            "status": trial.status,
            "reason": trial.reason,
        }
        design: Any = {"params": dict(trial.point), "distributions": self._distributions}
        if not trial.metrics:
            return create_trial(state=TrialState.FAIL, user_attrs=notes, **design)
        return create_trial(
            state=TrialState.COMPLETE,
            values=[trial.metrics[objective.metric] for objective in self._spec.objectives],
            constraints=excess_of(trial.metrics, self._spec, base),
            user_attrs={**notes, "proof": trial.proof, "gap": trial.gap, **trial.metrics},
            **design,
        )


class Together:
    """Several watchers of one run."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = watchers

    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Tell all watchers of a finished batch."""
        for watcher in self._watchers:
            watcher.batch(trials, seconds, sharing)

    def evaluated(self, done: int, count: int) -> None:
        """Tell all watchers how many designs of the batch are evaluated."""
        for watcher in self._watchers:
            watcher.evaluated(done, count)


def with_mirrors(
    watcher: Watcher, spec: StudySpec, targets: Sequence[str], name: str, *, new: bool = False
) -> Watcher:
    """Return a watcher that also copies the trials to each of `targets`, as a study `name`.

    `new`: the run begins, so the study must have no trials yet.
    """
    if not targets:
        return watcher
    mirrors = [Mirror(spec, target, name) for target in targets]
    for mirror in mirrors:
        if new:
            mirror.check_new()
    return Together(watcher, *mirrors)


def _opened(spec: StudySpec, target: str, name: str) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        storage=_with_driver(target) if target.startswith(_SCHEMES) else _journal(Path(target)),
        study_name=name,
        directions=[objective.goal for objective in spec.objectives],
        load_if_exists=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's mark of what is experimental
        study.set_metric_names([objective.metric for objective in spec.objectives])
    return study


def _storage_errors() -> tuple[type[Exception], ...]:
    """Return what a storage raises that cannot be opened, read or written.

    Those of Optuna, databases, files and drivers; those of Python for what Optuna does not expect:
    arguments in a URL, a journal that another program wrote, a study that was deleted meanwhile.
    """
    from optuna.exceptions import OptunaError
    from sqlalchemy.exc import SQLAlchemyError

    of_files = (OptunaError, SQLAlchemyError, OSError, ImportError)
    return (*of_files, AssertionError, LookupError, RuntimeError, TypeError, ValueError)


def _with_driver(url: str) -> str:
    """Return the URL of a database with the driver that is installed; only PostgreSQL has two.

    Raises TilewrightError if that has none.
    """
    if not url.startswith(_POSTGRESQL):
        return url
    from importlib.util import find_spec

    driver = next((name for name in _DRIVERS if find_spec(name) is not None), None)
    if driver is None:
        raise TilewrightError(
            "the mirror cannot be opened: PostgreSQL needs a driver",
            value=without_password(url),
            instead="pip install psycopg2-binary",
        )
    return f"postgresql+{driver}://{url.removeprefix(_POSTGRESQL)}"


def _journal(path: Path) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path.parent.mkdir(parents=True, exist_ok=True)
    _without_torn_line(path)
    return JournalStorage(JournalFileBackend(str(path)))


def _without_torn_line(path: Path) -> None:
    """Cut off a last line without its end, which a full disk leaves: Optuna would read no more."""
    if not path.exists():
        return
    whole = path.read_bytes()
    end = whole.rfind(b"\n") + 1
    if end < len(whole):
        with path.open("r+b") as journal:
            journal.truncate(end)


def _distribution(dimension: Dimension) -> Any:
    """Return the distribution of a knob with its true values, for a dashboard's axes."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    values = list(dimension.values)
    if not dimension.ordered:
        return CategoricalDistribution(values)
    numbers: list[Any] = values
    if all(isinstance(value, int) for value in numbers):
        return IntDistribution(numbers[0], numbers[-1])
    return FloatDistribution(float(numbers[0]), float(numbers[-1]))


def _first_line(error: BaseException) -> str:
    return without_password(f"{type(error).__name__}: {error}".splitlines()[0][:200])
