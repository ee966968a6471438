"""Reasons of infeasible designs, grouped."""

from __future__ import annotations

from tilewright.dse.report.reasons import group_reasons
from tilewright.dse.run.record import Trial


def trial(number, reason, status="infeasible", same_as=None):
    return Trial(number=number, batch=0, batch_size=8, key=str(number), point={},
                 status=status, reason=reason, same_as=same_as)  # fmt: skip


def test_reasons_that_differ_in_numbers_only_are_one():
    groups = group_reasons(
        [
            trial(0, "SRAM needs 50,000 bytes, has 49152\n  at: x"),
            trial(1, "SRAM needs 61,234 bytes, has 49152"),
            trial(2, "SRAM needs 61,234 bytes, has 49152", same_as=1),
            trial(3, "k = 12 does not divide over 5 elements along Y"),
            trial(4, None, "feasible"),
        ]
    )
    assert [(g.count, g.pattern) for g in groups] == [
        (2, "SRAM needs # bytes, has #"),
        (1, "k = # does not divide over # elements along Y"),
    ]
    assert groups[0].numbers == (0, 1)


def test_constraints_that_conflict_are_named_without_their_places():
    listed = "".join(f"\n  - {name} must keep Z (/a/b.yaml:{line}:21)"
                     for line, name in enumerate("ABCDE"))  # fmt: skip
    (group,) = group_reasons(
        [trial(0, f"no mapping fits. These 5 conflict:{listed}\n  at:      /a/b.yaml:1:2")]
    )
    assert group.example == (
        "no mapping fits. These 5 conflict: A must keep Z; B must keep Z; C must keep Z; and 2 more"
    )
