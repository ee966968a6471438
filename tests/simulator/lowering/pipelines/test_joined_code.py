"""The code of several Einsums: names, queues and registers of each part, and the parts' order."""

from pipeline_cases import PipelineCase, example, plan_of_pipeline, random_pipeline

from tilewright.simulator.instructions.control_flow import Loop
from tilewright.simulator.isa.dsd import Fabin, Fabout
from tilewright.simulator.lowering.element_program import TURN
from tilewright.simulator.program.code_parts import all_loads, all_operations
from tilewright.simulator.program.program import ElementCode


def codes(case: PipelineCase) -> tuple[ElementCode, ...]:
    return plan_of_pipeline(case).codes


def test_one_loop_of_the_turns_stands_around_all_einsums() -> None:
    for code in codes(example("two layers", 4)):
        (task,) = code.tasks
        (loop,) = task.body
        assert isinstance(loop, Loop)
        assert (loop.variable, loop.count) == (TURN, 4)
        labels = [op.label for _, op in all_operations(code) if op.label.startswith("receive")]
        assert labels == ["receive A"]


def test_without_turns_there_is_no_loop() -> None:
    for code in codes(example("two layers", 1)):
        loops = [step for step in code.tasks[0].body if isinstance(step, Loop)]
        assert TURN not in [loop.variable for loop in loops]


def test_a_sum_over_the_turns_has_a_first_turn_of_its_own() -> None:
    plans = [plan_of_pipeline(random_pipeline(seed)) for seed in range(40)]
    peeled = [plan for plan in plans if plan.peeled]
    assert peeled
    for plan in peeled:
        for code in plan.codes:
            loop = next(s for s in code.tasks[0].body if isinstance(s, Loop) and s.variable == TURN)
            assert loop.count == plan.turns - 1


def test_each_color_has_one_queue_and_each_descriptor_its_own() -> None:
    for code in codes(example("attention", 2)):
        for queues, kind in ((code.input_queues, Fabin), (code.output_queues, Fabout)):
            assert len({queue.color for queue in queues}) == len(queues)
            assert [queue.id for queue in queues] == list(range(len(queues)))
            used = {dsd.queue for dsd in code.dsds if isinstance(dsd, kind)}
            assert used == {queue.id for queue in queues}
        names = [dsd.name for dsd in code.dsds]
        assert len(set(names)) == len(names)


def test_maps_of_two_einsums_name_other_registers() -> None:
    for code in codes(example("two layers", 4)):
        registers = {(load.register.file, load.register.id): set[str]() for load in all_loads(code)}
        for load in all_loads(code):
            registers[load.register.file, load.register.id].add(load.dsd.split("_")[0])
        assert registers
        assert all(len(einsums) == 1 for einsums in registers.values())
