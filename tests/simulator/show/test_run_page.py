"""A run in words and as a page."""

from __future__ import annotations

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.show.run_page import run_facts, run_page, run_text


def test_words_and_page_have_the_same_figures() -> None:
    machine = Machine(chain_reduce(4, 8), load_profile("wse3-sdk-sim"))
    result = machine.run()
    facts = run_facts(machine, result)
    assert facts["cycles"] == result.cycles
    text, page = run_text(facts), run_page(machine, result)
    assert f": {result.cycles} cycles, 1 x 4 elements" in text.splitlines()[0]
    assert "no bank conflicts" in text
    for name, cycles in facts["cycles_by_reason"].items():
        assert not cycles or f"{cycles} (" in text
        assert not cycles or f"<td>{name}</td><td>{cycles} (" in page
    assert page.count("<svg") >= 4
    assert page.endswith("</html>\n")
