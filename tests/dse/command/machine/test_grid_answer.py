"""The answer of a search on the machine: its three forms say the same."""

from math import inf

from cascades import cascade_arch, cascade_workload
from grid_mappings import HARDWARE, einsum_workload

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.machine.grid_answer import find_on_machine
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.searches.budget import STOP_REQUESTED
from tilewright.mapper.searches.result import Progress


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
    assert answer.certificates["Z"] in text
    saved = load_mapping(load_document("m.yaml", text=answer.mapping_file()))
    assert saved == answer.answer.mapping
    assert all(state.lower_bound <= state.value for state in states)


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
