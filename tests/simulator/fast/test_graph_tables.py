"""The unit graph of a chain of three elements, table by table, by hand."""

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.partition_solve import scripts_of
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph_tables import build_graph
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

WORDS = 4


def chain() -> tuple[at.UnitGraph, at.UnitLayout]:
    machine = Machine(chain_reduce(3, WORDS), load_profile("wse2-sdk-sim"))
    network = machine.compiled.network
    division = Division(network)
    scripts = scripts_of(machine, division)
    return build_graph(machine.program, network, scripts, division)


def test_one_unit_per_operation() -> None:
    """Codes in order: west, even (no element of its own), odd in the middle, east."""
    graph, layout = chain()
    assert [elements.tolist() for elements in layout.elements] == [[0], [], [1], [2]]
    assert layout.first == (0, 1, 1, 2)
    assert graph.unit[:, at.U_KIND].tolist() == [at.THREAD] * 3
    assert graph.unit[:, at.U_SIZE].tolist() == [WORDS] * 3
    assert (graph.unit[0, at.U_IN] >= 0, graph.unit[0, at.U_OUT]) == (True, -1)
    assert (graph.unit[2, at.U_IN], graph.unit[2, at.U_OUT] >= 0) == (-1, True)


def test_channels_add_up_the_queues_between_two_elements() -> None:
    """Latency 6: 3 to the link, 1 hop, 2 to execute; four queues, each with a credit of 1."""
    graph, _ = chain()
    for taker, sender in ((0, 1), (1, 2)):
        port = graph.port[graph.unit[taker, at.U_IN]]
        assert port[at.P_SOURCE] == graph.unit[sender, at.U_OUT]
        assert port[at.P_LATENCY] == 6
        assert port[at.P_CREDIT] == 4
        assert port[at.P_WORDS] == WORDS
        assert port[at.P_COUNT] == 1
        assert graph.entry[port[at.P_AT]].tolist() == [taker, 0]


def test_nothing_is_contended() -> None:
    graph, _ = chain()
    assert graph.contest.size == graph.rival.size == 0
