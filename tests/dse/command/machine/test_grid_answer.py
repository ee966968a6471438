"""The answer of a search on the machine: its three forms say the same."""

import re
from html import unescape
from math import inf
from pathlib import Path

import pytest
from cascades import cascade_arch, cascade_workload
from click.testing import CliRunner
from grid_mappings import HARDWARE, einsum_workload

from tilewright.arch.compiled import Kernel
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.cli import cli
from tilewright.dse.command.machine import grid_answer
from tilewright.dse.command.machine.grid_answer import compile_engine, find_on_machine
from tilewright.dse.command.machine.grid_front_answer import find_front_on_machine
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.searches.budget import STOP_REQUESTED, Budget
from tilewright.mapper.searches.result import Progress
from tilewright.mapper.searches.shared.hit_counts import SIMULATIONS
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.search import grid_mapping
from tilewright.simulator.search.candidates import candidates, long_runs


def test_text_document_and_file_are_of_one_answer() -> None:
    states = []
    answer = find_on_machine(
        load_arch(HARDWARE),
        einsum_workload("matrix times vector"),
        "wse3-sdk-sim",
        {"objective": "energy", "budget": None},
        states.append,
    )
    document, text = answer.document(), answer.text()
    assert f"{document['cycles']:,} cycles" in text
    assert document["search"]["kind"] == "optimal"
    assert document["search"]["gap"] == 0
    assert str(answer.answer.certificate) in text
    assert answer.notes[0] == f"The search: {answer.answer.certificate}."
    saved = load_mapping(load_document("m.yaml", text=answer.mapping_file()))
    assert saved == answer.answer.mapping
    assert all(state.lower_bound <= state.value for state in states)


def test_the_engine_is_compiled_before_the_budget_of_a_search_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With no machine code on disk; a stand-in for the compilation, which takes a minute."""
    compiled, states = list[Kernel](), list[Progress]()
    compiler = "tilewright.arch.parallel_compilation.compile_missing"
    monkeypatch.setattr(compiler, compiled.extend)
    monkeypatch.setattr("tilewright.arch.parallel_compilation._looked_for", set())
    monkeypatch.setattr(Kernel, "load", lambda _: None)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compile_engine(states.append)
    names = {kernel.name for kernel in compiled}
    assert {"solve", "run", "map_step"} <= names, "of both engines, and of rare features"
    assert [state.doing for state in states] == ["compiling the engine, once on a computer"]


def test_what_the_elements_do_not_compute_is_refused_before_a_compilation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grid_answer, "compile_engine", lambda _: pytest.fail("compiled"))
    asked = "map --arch wafer_grid --workload mlp4 --machine wse2-sdk-sim --budget 1"
    result = CliRunner().invoke(cli, asked.split())
    assert result.exit_code == 3
    assert "values of X of H1 have 8 bits" in result.output


def test_a_request_to_stop_gives_the_best_so_far_with_its_bound() -> None:
    """A cascade: one candidate of each Einsum has run when the request comes."""

    def stop(state: Progress) -> None:
        if state.value < inf:
            STOP_REQUESTED.set()

    work = cascade_workload("product, row sums")
    options = {"objective": "latency", "budget": None}
    try:
        answer = find_on_machine(cascade_arch(2, 2), work, "wse2-sdk-sim", options, stop)
    finally:
        STOP_REQUESTED.clear()
    search = answer.document()["search"]
    assert search["kind"] == "bounded"
    assert 0 < search["lower_bound"] < search["value"]
    assert search["executed"] <= 2 * len(work.einsums)


def test_an_answer_that_was_not_executed_says_so_in_all_its_forms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(grid_mapping, "budget_of_answer", lambda *_: Budget(deadline=0.0))
    work, options = cascade_workload("two products"), {"objective": "latency", "budget": 1.0}
    answer = find_on_machine(cascade_arch(2, 2), work, "wse2-sdk-sim", options)
    text, document = answer.text(), answer.document()
    assert "Not executed, for the budget was over: no mapping has less latency than" in text
    assert "tilewright execute" in text
    assert not document["is_executed"]
    assert document["search"]["value"] is None
    assert document["search"]["lower_bound"] > 0
    assert document["search"]["lower_bound"] <= document["prediction"]["latency"]
    for program in document["prediction"]["programs"]:
        assert re.search(
            rf"  {program['name']} +at least +{program['lower_bound_cycles']:,} cycles", text
        )
    answer.write_page(tmp_path / "page.html", "two products")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "A mapping, not executed" in page
    assert "No mapping has less latency than" in page
    assert f"{document['prediction']['lower_bound_cycles']:,}" in page
    nest = re.findall(r'<span class="(?:storage|temporal|spatial|compute|step)">(.*?)</span>', page)
    assert text.split("\n\n")[0].splitlines() == [*map(unescape, nest)]
    assert "not executed; in the search: " in text.splitlines()[-2]
    assert "gap" not in text.splitlines()[-2]
    assert text.splitlines()[-1].startswith("  restrictions: shares of least work; ")


PRODUCT = """
workload:
  rank_sizes: {M: 40, K: 64, N: 48}
  bits_per_value: {All: 32}
  einsums: ['C[m, n] = A[m, k] * B[k, n]']
"""


def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run take too long."""
    monkeypatch.setattr(candidates, "LARGE_GRID", 1)
    monkeypatch.setattr(candidates, "MOST_VISITS", 0)
    monkeypatch.setattr(long_runs, "MOST_OF_PROOFS", 0)


def test_an_answer_between_two_bounds_says_so_in_all_its_forms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nothing_runs(monkeypatch)
    work = load_workload(load_document("product.yaml", text=PRODUCT))
    options = {"objective": "latency", "budget": None}
    answer = find_on_machine(load_arch(HARDWARE), work, "wse3-sdk-sim", options)
    text, document = answer.text(), answer.document()
    known, search = document["prediction"], document["search"]
    least, most = known["lower_bound_cycles"], known["cycles_at_most"]
    assert least < most
    assert document["is_too_long"]
    assert not document["is_executed"]
    assert search["value"] == pytest.approx(most / 875e6)
    assert search["lower_bound"] < search["value"]
    assert search["gap"] == pytest.approx(search["value"] / search["lower_bound"] - 1)
    assert search["executed"] == 0 < search["enclosed"]
    said = f"between {least:,} and {most:,} cycles"
    assert said in text
    assert "budget" not in text
    small = document["small_runs"]["C"]
    assert f"executed, equals numpy, {small['cycles']:,} cycles" in text
    assert small["elements"] <= 16
    assert "least upper bound: 0 executed, " in text
    answer.write_page(tmp_path / "page.html", "a product")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert said in page
    assert f"{most:,}" in page
    assert "equals numpy" in page


def test_an_answer_of_lower_bounds_alone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_runs(monkeypatch)
    work, options = einsum_workload("elementwise sum"), {"objective": "latency", "budget": None}
    answer = find_on_machine(load_arch(HARDWARE), work, "wse3-sdk-sim", options)
    text, document = answer.text(), answer.document()
    assert document["is_too_long"]
    assert document["search"]["value"] is None
    assert document["prediction"]["cycles_at_most"] is None
    assert "no mapping has less latency than" in text
    assert "no upper bound is known" in text


def test_a_search_finds_the_executions_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those that studies share, and with the same answer."""
    answers = []
    for folder in ("off", str(tmp_path / "known"), str(tmp_path / "known")):
        monkeypatch.setenv("TILEWRIGHT_KNOWN", folder)
        work = cascade_workload("product, row sums")
        options = {"objective": "latency", "budget": None}
        answers.append(find_on_machine(cascade_arch(2, 2), work, "wse2-sdk-sim", options))
    off, first, second = answers
    assert (off.known_executions, first.known_executions) == (0, 0)
    assert 0 < second.known_executions <= second.answer.certificate.executed
    assert "known from before" in second.text()
    assert {each.mapping_file() for each in answers} == {off.mapping_file()}
    documents = [each.document() for each in answers]
    for document in documents:
        del document["search"]["seconds"], document["search"]["known"]
    assert documents[0] == documents[1] == documents[2]


def test_a_front_finds_the_executions_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEWRIGHT_KNOWN", str(tmp_path))
    options = {"front": ("latency", "usage"), "objective": "latency", "limit": 5}
    texts, shared = [], []
    for _ in range(2):
        before = SIMULATIONS.shared
        work = einsum_workload("matrix times vector")
        answer = find_front_on_machine(load_arch(HARDWARE), work, "wse3-sdk-sim", options)
        shared.append(SIMULATIONS.shared - before)
        texts.append(answer.document()["front"])
    assert shared[0] == 0 < shared[1]
    assert texts[0] == texts[1]
