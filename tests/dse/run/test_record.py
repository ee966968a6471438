"""Trials as lines of the log."""

from __future__ import annotations

from tilewright.dse.run.record import Trial


def trial(number, reason, status="infeasible", same_as=None):
    return Trial(number=number, batch=0, key=str(number), point={}, status=status, reason=reason,
                 same_as=same_as)  # fmt: skip


def test_a_line_is_the_same_trial_again():
    before = trial(3, "Übergröße", same_as=1)
    assert Trial.from_line(before.to_line()) == before
