"""What follows from times: ends and arrivals, worked out by hand for a chain of three elements.

On wse2-sdk-sim an operation with a fabric operand is dispatched at cycle 5 (6 with two), a word
takes 6 cycles from an element's dispatch to its neighbour's (3 to the link, 1 hop, 2 to execute),
and the last instruction executes 3 cycles after its task.
"""

import numpy as np
import pytest

from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.partition_solve import solve_parts
from tilewright.simulator.fast.times.timed_program import (
    TimedProgram,
    arrivals,
    end_cycle,
    last_timed_exit,
    main_ends,
)
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")
EXECUTE = 1


def timed(program: Program) -> tuple[TimedProgram, Machine]:
    machine = Machine(program, WSE2)
    times, _ = solve_parts(machine)
    assert times is not None
    return times, machine


def test_a_chain_of_three() -> None:
    chain, machine = timed(chain_reduce(3, 4))
    west, middle, east = 0, 1, 2
    assert chain.times.start[[east, middle, west]].tolist() == [5, 6, 5]
    assert chain.times.first[[east, middle, west]].tolist() == [5, 5 + 6, 5 + 6 + 6]
    assert chain.times.last[[east, middle, west]].tolist() == [8, 14, 20]
    ends = [
        main_ends(chain.layout, chain.times, n, s).tolist() for n, s in enumerate(chain.scripts)
    ]
    assert ends == [[20 + 1], [], [14 + 1], [8 + 1]]
    assert end_cycle(chain, EXECUTE) == 21 + EXECUTE == machine.run().cycles
    assert last_timed_exit(chain) == -1
    assert arrivals(chain) == {}


@pytest.mark.parametrize("words", [1, 7])
def test_arrivals_are_those_of_a_run(words: int) -> None:
    program = gemv_like(3, 2, words, 1)
    times, machine = timed(program)
    edges = {
        port.name: np.ones((port.positions, port.count), dtype=np.float32)
        for port in program.edge_inputs
    }
    result = machine.run(edges=edges)
    found = [cycles.tolist() for _, cycles in sorted(arrivals(times).items())]
    assert found == [row for stream in result.edges.values() for row in stream.cycles.tolist()]
    assert max([end_cycle(times, EXECUTE), last_timed_exit(times)]) == result.cycles
