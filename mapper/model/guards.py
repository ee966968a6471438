"""Conservation: no score leaves the model that breaks one of these (model.md §10)."""

from __future__ import annotations

from tilewright.mapper.model.reuse import Traffic
from tilewright.mapper.model.tally import EinsumCounts


class ConservationError(AssertionError):
    """The model contradicts itself: a defect of Tilewright, never of the user's files."""


def check(tally: EinsumCounts) -> None:
    """Raise ConservationError if the counts of `tally` cannot all be true."""
    name = tally.view.einsum.name
    lanes = tally.lanes
    if tally.steps * lanes < tally.operations:
        raise ConservationError(
            f"Einsum {name}: {tally.operations} operations in {tally.steps} steps on {lanes} lanes"
        )
    above: Traffic | None = None
    for traffic in tally.traffic:
        _check_one(traffic)
        if above is not None and above.tensor == traffic.tensor:
            _check_pair(above, traffic, lanes)
        above = traffic


def _check_one(traffic: Traffic) -> None:
    counts = (traffic.reads, traffic.writes, traffic.unit_reads, traffic.unit_writes)
    if min(counts) < 0:
        raise ConservationError(f"{traffic.holder.usage_key}: negative count in {counts}")
    if traffic.unit_reads > traffic.reads or traffic.unit_writes > traffic.writes:
        raise ConservationError(f"{traffic.holder.usage_key}: one instance does more than all")


def _check_pair(above: Traffic, below: Traffic, lanes: int) -> None:
    """Parent reads times multicast are child fills; child drains over reduction, parent writes."""
    for what, parent, child in (
        ("down", above.served, below.fills),
        ("up", above.taken, below.drains),
    ):
        if not parent <= child <= parent * lanes:
            raise ConservationError(
                f"{above.holder.usage_key} moves {parent} values {what}, "
                f"{below.holder.usage_key} {child}, with {lanes} lanes"
            )
