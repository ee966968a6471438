"""Texts, JSON and page of an execution with an exchange of halos."""

from functools import cache
from pathlib import Path

import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.dse.report.execution_page import (
    ExecutionPage,
    execution_lines,
    page_of,
    whole_document,
    write_execution_page,
)
from tilewright.dse.report.execution_table import program_rows
from tilewright.simulator.execution.execution import Execution
from tilewright.simulator.search.grid_mapping import map_on_grid


@cache
def smoothed() -> Execution:
    """Two Einsums on 2 x 2 elements; the second one reads around each point."""
    return map_on_grid(cascade_arch(2, 2), cascade_workload("smoothing", m=16, n=12)).execution


def test_halos_are_said_before_the_einsum_that_needs_them() -> None:
    lines = execution_lines(smoothed())
    (number,) = (n for n, line in enumerate(lines) if "halos exchanged for Z" in line)
    assert lines[number] == "S: halos exchanged for Z, 8 x 6 -> 10 x 8 values of an element"
    assert any(line.startswith("Z: the result equals numpy") for line in lines[number:])


def test_totals_are_those_of_all_programs() -> None:
    execution, document = smoothed(), whole_document(smoothed())
    cycles = [run["cycles"] for run in (*document["einsums"], *document["exchanges"])]
    assert sum(cycles) == document["cycles"] == execution.cycles
    assert document["exchanges"][0]["counts_equal"]
    assert sum(execution.energy_by.values()) == pytest.approx(document["energy"], rel=1e-12)


def test_the_page_shows_their_cycles_with_the_einsum() -> None:
    page = page_of(smoothed(), "smoothing on a grid")
    assert any(figure.startswith("router_buffer_words: ") for figure in page.assumed)
    assert list(page.assumed) == whole_document(smoothed())["assumed"]
    (halo,) = smoothed().exchanges
    facts = {section["einsum"]: section["facts"] for section in page.sections}
    assert facts["Z"]["halos of S, before it"].startswith(f"{halo.cycles:,} cycles")
    assert not any("halos" in name for name in facts["S"])
    assert [(row.cells[0], row.section) for row in page.rows] == [
        ("S", "S"), ("S, halos for Z", "Z"), ("Z", "Z")
    ]  # fmt: skip
    assert page.rows[1].cells[1] == f"{halo.cycles:,}"


def test_the_whole_result_is_said_in_lines_json_and_on_the_page() -> None:
    whole = smoothed().whole_result["Z"]
    (line,) = (each for each in execution_lines(smoothed()) if "of all Einsums in turn" in each)
    assert line.startswith(
        f"Z differs from numpy's, of all Einsums in turn, by at most {whole.difference:.2g} "
    )
    assert line.endswith(f"rounding allows {whole.bound:.2g}")
    assert whole_document(smoothed())["whole_result"] == {
        "Z": {
            "difference": whole.difference,
            "bound": whole.bound,
            "largest_value": whole.largest,
            "error_share": whole.share,
        }
    }
    assert line in page_of(smoothed(), "smoothing on a grid").notes


def test_the_table_of_programs_adds_up_to_the_whole() -> None:
    rows = program_rows(smoothed())
    cycles = [int(row.cells[1].replace(",", "")) for row in rows]
    assert sum(cycles) == smoothed().cycles
    assert abs(sum(int(row.cells[2].split()[0]) for row in rows) - 100) <= len(rows)
    lines = execution_lines(smoothed())
    head = next(n for n, line in enumerate(lines) if line.startswith("program"))
    assert lines[head].split()[:3] == ["program", "cycles", "share"]
    assert lines[head + 2].startswith("S, halos for Z")
    assert not program_rows(Execution(smoothed().einsums[:1], (), {}))


def test_a_page_has_what_the_search_has_shown_and_its_front(tmp_path: Path) -> None:
    notes, front = ("The search: complete.",), [["", "cycles"], ["0", "312"], ["1", "298"]]
    page = page_of(smoothed(), "smoothing", notes, front)
    text = text_of_page(tmp_path, page)
    assert text.count("The search: complete.") == 1
    assert "The front: 2 mappings" in text
    assert '<td class="num">298</td>' in text
    assert "The front" not in text_of_page(tmp_path, page_of(smoothed(), "smoothing"))


def text_of_page(folder: Path, page: ExecutionPage) -> str:
    write_execution_page(folder / "other.html", page)
    return (folder / "other.html").read_text(encoding="utf-8")
