"""Operations on memory alone: their cycles, counts and bounds, by hand."""

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")


def copying(words: int, offset: int = 0) -> Program:
    """Copy `words` values from a[offset] on to b."""
    b = ProgramBuilder("copy", 1, 1)
    code = b.code("only")
    code.buffer("a", "f32", words)
    code.buffer("b", "f32", words)
    code.mem1d("from", "a", words)
    code.mem1d("to", "b", words)
    task = code.task("main", entry=True)
    task.set("k", offset)
    task.op("fmovs", "to", Ref("from").at(variable("k")))
    b.place("only", Area(0, 0))
    return b.build()


@pytest.mark.parametrize("words", [1, 2, 7, 64])
def test_an_operation_runs_whole_and_occupies_the_main_thread(words: int) -> None:
    values = np.arange(words, dtype=np.float32)[None, None]
    result = Machine(copying(words), WSE2).run(memory={"a": values}, timeline=True)
    assert result.memory["b"].tolist() == values.tolist()
    task, operation = sorted(result.trace.timeline, key=lambda event: event.start)
    assert (task.operation, operation.operation) == ("task", "fmovs")
    busy = (words + 1) // 2  # the datapath moves 64 bits per cycle
    assert task.end == operation.start + busy
    assert operation.end == task.end + WSE2.memory_completion_cycles
    assert result.counts.memory_reads["a"] == result.counts.memory_writes["b"] == words


def test_a_counter_that_leaves_the_buffer_ends_the_run() -> None:
    with pytest.raises(MachineError, match="a"):
        Machine(copying(8, offset=1), WSE2).run()


def test_an_operation_longer_than_the_run_may_be_is_refused() -> None:
    with pytest.raises(MachineError):
        Machine(copying(4096), WSE2).run(max_cycles=100)
