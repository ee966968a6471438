"""The size of a mapspace, with and without each constraint, compared with listed mapspaces."""

from __future__ import annotations

from buffer_spaces import ARCH, space, workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.mapspace_report import _three, mapspace_report
from tilewright.mapper.mapspace.counting.mapspace_size import CountedSizes


def test_sizes_are_those_of_the_listed_mapspaces() -> None:
    arch = load_arch(ARCH.format(rules="keep: All", dim="fanout: 2", size=96))
    report = mapspace_report(arch, workload(), "Z")
    room = space("keep: All", size=96)
    assert report.size.templates == len(room.templates)
    assert report.size.fitting == len(list(room))
    by_kind = {(e.constraint.component, e.constraint.kind, e.constraint.tensor): e
               for e in report.effects}  # fmt: skip
    large = by_kind["BUF", "size", ""]
    assert large.without.fitting == len(list(space("keep: All", size=4096)))
    last = report.effects[-1]
    assert last.after == report.size  # all constraints are active then
    assert str(report).splitlines()[0].startswith("constraint")
    assert report.to_dict()["einsum"] == "Z"


def test_a_number_is_told_as_it_is_known() -> None:
    """Exact, else at most, else at least, else not at all."""
    assert _three(CountedSizes(2_000, 10**12, 5)) == ("2,000", "1.000e+12", "5")
    size = CountedSizes(None, None, None, (7, 3, 0), (None, 9, None))
    assert _three(size) == (">= 7", "<= 9", "?")
