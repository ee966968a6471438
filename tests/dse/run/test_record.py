"""Trials as lines of the log."""

from __future__ import annotations

from tilewright.dse.run.record import Trial
from tilewright.dse.store.trial_line import line_of, trial_of


def trial(number, reason, status="infeasible", same_as=None):
    return Trial(number=number, batch=0, batch_size=1, key=str(number), point={},
                 status=status, reason=reason, same_as=same_as)  # fmt: skip


def test_a_line_is_the_same_trial_again():
    before = trial(3, "Übergröße", same_as=1)
    assert trial_of(line_of(before)) == before
