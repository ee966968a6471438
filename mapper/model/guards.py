"""Conservation laws that every score is checked against (theory/model.md §10)."""

from __future__ import annotations

from tilewright.mapper.model.tally import EinsumCounts
from tilewright.mapper.model.traffic.reuse import Traffic


class ConservationError(AssertionError):
    """Counts of the model contradict each other: a defect of Tilewright, not of a user's file.

    Raised by `check`, for example if one instance reads more values than all instances together.
    """


def check(tally: EinsumCounts) -> None:
    """Raise ConservationError if the counts of an Einsum break a conservation law.

    Checked: steps times lanes cover all operations; no count is negative; one instance does no
    more than all, but for zeros of padded ranks; values that a holder sends or takes match those of
    the next holder of the tensor, up to multicast and reduction over the lanes (theory/model.md
    §10).
    """
    name = tally.view.einsum.name
    lanes = tally.lanes
    if tally.steps * lanes < tally.operations:
        raise ConservationError(
            f"Einsum {name}: {tally.operations} operations in {tally.steps} steps on {lanes} lanes"
        )
    parent: Traffic | None = None
    for traffic in tally.traffic:
        _check_one(traffic)
        if parent is not None and parent.tensor == traffic.tensor:
            _check_pair(parent, traffic, lanes)
        parent = traffic


def _check_one(traffic: Traffic) -> None:
    counts = (traffic.reads, traffic.writes, traffic.unit_reads, traffic.unit_writes)
    if min(counts) < 0:
        raise ConservationError(f"{traffic.holder.usage_key}: negative count in {counts}")
    reads, writes = traffic.reads + traffic.zeros, traffic.writes + traffic.zeros
    if traffic.unit_reads > reads or traffic.unit_writes > writes:
        raise ConservationError(f"{traffic.holder.usage_key}: one instance does more than all")


def _check_pair(parent: Traffic, child: Traffic, lanes: int) -> None:
    """Check that multicast and reduction over lanes explain the values at two successive holders.

    Values that the parent sends (takes) are at most the child's fills (drains), and these at most
    `lanes` times as many. Raises ConservationError.
    """
    for direction, parent_values, child_values in (
        ("down", parent.served, child.fills),
        ("up", parent.taken, child.drains),
    ):
        if not parent_values <= child_values <= parent_values * lanes:
            raise ConservationError(
                f"{parent.holder.usage_key} moves {parent_values} values {direction}, "
                f"{child.holder.usage_key} {child_values}, with {lanes} lanes"
            )
