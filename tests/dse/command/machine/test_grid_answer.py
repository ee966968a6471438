"""The answer of a search on the machine: its three forms say the same."""

from grid_mappings import HARDWARE, einsum_workload

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.machine.grid_answer import find_on_machine
from tilewright.mapper.mapping.mapping_file import load_mapping


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
    assert saved == answer.found.mapping
    assert all(state.lower_bound <= state.value for state in states)
