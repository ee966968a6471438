"""A run copied to storages of Optuna."""

from __future__ import annotations

from itertools import chain, cycle

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from tilewright.arch.errors import TilewrightError
from tilewright.dse.run.runner import RunSettings, resume_study, start_study
from tilewright.dse.store.extension import Changes
from tilewright.dse.store.mirror import Mirror, with_mirrors
from tilewright.dse.study.study_loading import load_study


class Silent:
    def batch(self, trials, seconds, sharing):
        pass

    def evaluated(self, done, count):
        pass


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_trials_stand_in_both_mirrors_and_a_resume_adds_the_new_ones(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 16})
    targets = (f"sqlite:///{tmp_path / 'study.db'}", str(tmp_path / "journal.log"))
    out = tmp_path / "run"

    def execution():
        watcher = with_mirrors(Silent(), spec, targets, "toy")
        return RunSettings(evaluator=toy.ToyModel(0.0), watcher=watcher)

    start_study(spec, out, execution())
    trials = resume_study(out, execution(), Changes(trials=24)).trials
    journal = JournalStorage(JournalFileBackend(targets[1]))
    for storage in (targets[0], journal):
        study = optuna.load_study(study_name="toy", storage=storage)
        mirrored = study.get_trials(deepcopy=False)
        assert [each.user_attrs["number"] for each in mirrored] == [t.number for t in trials]
        assert [each.params for each in mirrored] == [dict(trial.point) for trial in trials]
        assert [each.values for each in mirrored] == [
            [trial.metrics["energy"], trial.metrics["cycles"]] if trial.metrics else None
            for trial in trials
        ]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_mirror_that_fails_before_or_within_a_batch_gets_each_trial_once(
    toy, tmp_path, monkeypatch, capsys
):
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 24})
    target = f"sqlite:///{tmp_path / 'study.db'}"
    mirror = Mirror(spec, target, "toy")
    calls = chain(["read fails", "read", "some are written"], cycle(["read", "written"]))

    class Failing:
        def __init__(self, study):
            self.study = study

        def get_trials(self, **options):
            if next(calls) == "read fails":
                raise OSError("no server")
            return self.study.get_trials(**options)

        def add_trials(self, trials):
            if next(calls) == "some are written":
                self.study.add_trials(trials[:3])
                raise OSError("no server")
            self.study.add_trials(trials)

    monkeypatch.setattr(mirror, "_study", Failing(mirror._study))
    execution = RunSettings(evaluator=toy.ToyModel(0.0), watcher=mirror)
    trials = start_study(spec, tmp_path / "run", execution).trials
    study = optuna.load_study(study_name="toy", storage=target)
    assert [each.user_attrs["number"] for each in study.trials] == [t.number for t in trials]
    assert capsys.readouterr().err.count("left behind: OSError: no server") == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_journal_with_a_torn_last_line_is_brought_up_to_date(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 16})
    journal = tmp_path / "journal.log"

    def execution():
        watcher = with_mirrors(Silent(), spec, (str(journal),), "toy")
        return RunSettings(evaluator=toy.ToyModel(0.0), watcher=watcher)

    run = start_study(spec, tmp_path / "run", execution()).run
    journal.write_bytes(journal.read_bytes()[:-30])
    trials = resume_study(run.path, execution(), Changes(trials=24)).trials
    study = optuna.load_study(
        study_name="toy", storage=JournalStorage(JournalFileBackend(str(journal)))
    )
    assert [each.user_attrs["number"] for each in study.trials] == [t.number for t in trials]


def test_a_mirror_that_cannot_be_opened(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path))
    journals = [b"1", b"abc", b"\xff\xfe", b"{}", b'{"op_code": 99, "worker_id": "x"}']
    targets = ["sqlite:////nowhere/at/all/study.db", "postgresql+none://host/x", "sqlite:///\0"]
    for number, line in enumerate(journals):
        (tmp_path / f"{number}.log").write_bytes(line + b"\n")
        targets.append(str(tmp_path / f"{number}.log"))
    for target in targets:
        with pytest.raises(TilewrightError, match="cannot be opened"):
            Mirror(spec, target, "toy")


def test_a_defect_in_a_copy_is_no_fault_of_the_mirror(toy, tmp_path, monkeypatch):
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 8})
    mirror = Mirror(spec, f"sqlite:///{tmp_path / 'study.db'}", "toy")
    monkeypatch.delitem(mirror._distributions, next(iter(mirror._distributions)))
    execution = RunSettings(evaluator=toy.ToyModel(0.0), watcher=mirror)
    with pytest.raises(ValueError, match="Inconsistent parameters"):
        start_study(spec, tmp_path / "run", execution)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_mirror_that_has_another_run_of_that_name_is_refused(toy, tmp_path):
    target = f"sqlite:///{tmp_path / 'study.db'}"

    def run(name, seed, new):
        folder = tmp_path / name
        spec = load_study(toy.write_study(folder), {"search.trials": 8, "seed": seed})
        watcher = with_mirrors(Silent(), spec, (target,), "toy", new=new)
        return start_study(
            spec, folder / "run", RunSettings(evaluator=toy.ToyModel(), watcher=watcher)
        )

    run("first", 1, True)
    with pytest.raises(TilewrightError, match="study toy already, with 16 trials of another run"):
        run("second", 2, True)
    assert not (tmp_path / "second" / "run").exists(), "said before anything was evaluated"
    with pytest.raises(TilewrightError, match="of another run"):
        run("third", 2, False)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:se:cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://:secret@host/db", "postgresql://:***@host/db"),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db"),
        ("sqlite:///C:/a@b.db", "sqlite:///C:/a@b.db"),
    ],
)
def test_a_password_is_kept_nowhere(toy, tmp_path, monkeypatch, url, shown):
    monkeypatch.setattr("sys.argv", ["tilewright", "study", "run", "toy", "--mirror", url])
    run = start_study(
        load_study(toy.write_study(tmp_path), {"search.trials": 8}), tmp_path / "run",
        RunSettings(evaluator=toy.ToyModel()),
    ).run  # fmt: skip
    assert run.environment()["command"][-1] == shown
    assert ("cret" in (run.path / "report.html").read_text()) == ("cret" in shown)
