"""Conservation: no score leaves the model that breaks one of these (design.md §4)."""

from __future__ import annotations

from tilewright.mapper.model.reuse import Traffic
from tilewright.mapper.model.tally import Tally
from tilewright.mapper.model.view import Count


class ConservationError(AssertionError):
    """The model contradicts itself: a defect of Tilewright, never of the user's files."""


def check(tally: Tally) -> None:
    """Raise ConservationError if the counts of `tally` cannot all be true."""
    name = tally.view.einsum.name
    lanes: Count = 1
    for count in tally.used.values():
        lanes *= count
    if tally.steps * lanes < tally.operations:
        raise ConservationError(
            f"Einsum {name}: {tally.operations} operations in {tally.steps} steps on {lanes} lanes"
        )
    above: Traffic | None = None
    for traffic in tally.traffic:
        _check_one(traffic)
        if above is not None and _same_tensor(above, traffic):
            _check_pair(above, traffic)
        above = traffic


def _check_one(traffic: Traffic) -> None:
    counts = (traffic.reads, traffic.writes, traffic.unit_reads, traffic.unit_writes)
    if min(counts) < 0 or traffic.fills < 0 or traffic.drains < 0:
        raise ConservationError(f"{traffic.holder.usage_key}: negative count in {counts}")
    if traffic.unit_reads > traffic.reads or traffic.unit_writes > traffic.writes:
        raise ConservationError(f"{traffic.holder.usage_key}: one instance does more than all")


def _check_pair(above: Traffic, below: Traffic) -> None:
    """What goes down is read above and arrives below; multicast can only make it more."""
    served = above.reads - (0 if above.holder.is_toll else above.drains)
    if not above.holder.is_toll and below.fills < served and below.holder.skips_first_write:
        raise ConservationError(
            f"{below.holder.usage_key} receives {below.fills} values, but {above.holder.usage_key} "
            f"sends {served}"
        )


def _same_tensor(one: Traffic, other: Traffic) -> bool:
    return one.holder.usage_key.rsplit("/", 1)[1] == other.holder.usage_key.rsplit("/", 1)[1]
