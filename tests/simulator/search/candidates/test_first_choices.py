"""The first choice of a search to run: its plan is near the least bound where others are not."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates import first_choices
from tilewright.simulator.search.candidates.family_heap import HeapEntry
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of

HARDWARE = Path(__file__).resolve().parents[4] / "studies" / "hardware" / "wafer_grid.yaml"
CONVOLUTION = """
workload:
  rank_sizes: {M: 8, P: 64, H: 66, C: 4, R: 3}
  bits_per_value: {All: 16}
  einsums: ["O[m, p] = X[c, H: p + r] * W[m, c, r]"]
"""


def search_of_a_convolution() -> CandidateSearch:
    arch = load_arch(HARDWARE, variables={"GridX": 4, "GridY": 4})
    workload = load_workload(load_document("w.yaml", text=CONVOLUTION))
    search = cascade_of(arch, workload, GridRequest()).options[0][0].search(1 << 60)
    assert search is not None
    return search


def works(search: CandidateSearch, families: int) -> list[float]:
    """The bounds by work of so many families, least quick bounds first."""
    candidates = search.candidates
    entries = sorted(search.heap.entries)[:families]
    return [
        candidates.least_value(e.family, None, candidates.orders(e.family)[0].alone)
        for e in entries
    ]


def test_it_is_of_the_family_with_the_least_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many mappings of a convolution read one memory bank twice, as quick bounds do not see."""
    monkeypatch.setattr(first_choices, "MOST_PASSED", 24)
    search = search_of_a_convolution()
    candidates, least, work = search.candidates, search.heap.least[0], works(search, 24)
    first = first_choices.first_choices(search.heap, search.heap.refined, lambda: False)[0]
    its_work = candidates.least_value(first.family, None, candidates.orders(first.family)[0].alone)
    assert its_work <= max(first_choices.NEAR * least, min(work))
    assert min(work) < work[0]


def test_without_time_few_families_are_looked_at() -> None:
    search = search_of_a_convolution()
    families = list[HeapEntry]()

    def refine(entry: HeapEntry) -> Iterable[HeapEntry]:
        if entry.choice is None:
            families.append(entry)
        return search.heap.refined(entry)

    first = first_choices.first_choices(search.heap, refine, lambda: bool(families))[0]
    assert first.is_planned
    assert len(families) <= first_choices.MOST_FAMILIES
