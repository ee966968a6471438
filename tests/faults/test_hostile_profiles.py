"""Profiles at extremes, and corrupted ones: a result that no time changes, or an error of ours."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from explore import enough
from machine_programs import Case, random_case

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.isa.machine_errors import MachineError, ProfileError, ProgramError
from tilewright.simulator.profiles.profile import FOLDER, Profile, load_profile
from tilewright.simulator.profiles.profile_file import AT_LEAST, OTHER
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

NAMES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon", "generic")
EXTREMES = (
    *(0, 1, 2, 3, 7, 64, 1000, 10**6, 10**6 + 1, 2**31, 2**63 - 1, 2**63, 10**30),
    *(-1, -(2**63), 0.5, 1.5, 1e300, 1e-300, float("inf"), float("nan")),
    *("1/3", "1/1000000007", "999999999/1000000007", "1e400", "7/0", "x", "", Fraction(1, 3)),
    *(None, True, False, [], [1], [0] * 8, [10**6] * 8, [2**63] * 8, [-1], [1.5], ["a"]),
)
FIELDS = (
    *sorted(AT_LEAST),
    *OTHER,
    *("name", "operations.fmovs.group", "operations.fadds.cycles", "operations.fmovs.reduction"),
    *("operations.fmovs.cycles", "operations.nothing.group", "operations.fmovs", "nothing"),
)


def extreme(seed: int) -> tuple[Profile, dict[str, object]]:
    """Draw a shipped profile, and one to three changes of it."""
    rng = np.random.default_rng(seed)
    changes: dict[str, object] = {}
    for _ in range(int(rng.integers(1, 4))):
        field = str(rng.choice(FIELDS))
        many = field.endswith(".cycles") and rng.integers(4) > 0
        drawn = [EXTREMES[int(n)] for n in rng.integers(len(EXTREMES), size=3)]
        changes[field] = drawn if many else drawn[0]
    return load_profile(str(rng.choice(NAMES))), changes


def outcome(case: Case, profile: Profile) -> str:
    """Run a program; its values may not depend on the times of the machine."""
    try:
        machine = Machine(case.program, profile)
        result = machine.run(memory=case.memory, edges=case.edges, max_cycles=100_000)
    except TilewrightError as error:
        return str(error).splitlines()[0][-40:]
    for name, values in case.expected.items():
        np.testing.assert_array_equal(result.memory[name], values)
    return "result"


def changed_outcome(seed: int) -> str:
    profile, changes = extreme(seed)
    try:
        profile = profile.with_values(changes)
    except ProfileError as error:
        return error.what[-40:]
    return outcome(random_case(seed), profile)


def broken_outcome(seed: int, folder: Path) -> str:
    """Change characters, words or lines of a profile's text."""
    rng = np.random.default_rng(seed)
    text = (FOLDER / f"{rng.choice(NAMES)}.yaml").read_text()
    for _ in range(int(rng.integers(1, 4))):
        lines = text.split("\n")
        first, second = (int(n) for n in rng.integers(len(lines), size=2))
        kind = int(rng.integers(4))
        if kind == 0:
            at = int(rng.integers(len(text)))
            text = text[:at] + str(rng.choice(list("0-9e.:{}[]\"' \n#&*!x"))) + text[at + 1 :]
        elif kind == 1:
            text = "\n".join([*lines[:first], *lines[first + 1 :]])
        elif kind == 2:
            lines[first] = lines[second]
            text = "\n".join(lines)
        else:
            new = EXTREMES[int(rng.integers(len(EXTREMES)))]
            head, _, tail = lines[first].partition("value: ")
            lines[first] = f"{head}value: {new}, {tail.partition(', ')[2]}" if tail else head
            text = "\n".join(lines)
    path = folder / f"broken{seed}.yaml"
    path.write_text(text)
    try:
        profile = load_profile(path)
    except ProfileError as error:
        return error.what[-40:]
    except TilewrightError as error:
        return str(error).splitlines()[0][-40:]
    return outcome(random_case(seed), profile)


def test_extreme_values_end_in_a_result_or_a_named_error() -> None:
    found = {changed_outcome(seed) for seed in range(150)}
    assert "result" in found
    assert len(found) > 20


def test_broken_files_end_in_a_result_or_a_named_error(tmp_path: Path) -> None:
    found = {broken_outcome(seed, tmp_path) for seed in range(80)}
    assert "result" in found
    assert len(found) > 10


@pytest.mark.nightly
def test_a_thousand_of_each(tmp_path: Path, shift: int) -> None:
    seeds = range(shift, shift + 1000)
    assert enough(len({changed_outcome(seed) for seed in seeds}), 61)
    assert enough(len({broken_outcome(seed, tmp_path) for seed in seeds}), 31)


SELVES = {
    "at once": "  task main entry\n    activate main\n",
    "a pair": "  task main entry\n    activate b\n  task b\n    activate main\n",
    "behind an operation": "  task main entry\n    @fmovs all, #1.0\n    activate main\n",
    "by a push": "  buffer s f32 [2]\n  fifo f s activate_push main\n"
    "  task main entry\n    @fmovs all, f\n    activate b\n  task b\n    @fmovs f, all\n"
    "    activate main\n",
    "in a loop": "  task main entry\n    loop i 2000000000\n      if k < 1\n        set j 1\n",
    "from a queue": "  input_queue 2 x\n  output_queue 3 x\n  fabout o queue 3 extent 1\n"
    "  task main entry\n    @fmovs o, v(0)\n  task d queue 2 w:u32\n    activate main\n",
}


@pytest.mark.parametrize("what", SELVES)
def test_a_machine_whose_costs_are_least_does_not_hang(what: str) -> None:
    """Whatever costs a machine has, a program that goes on for ever meets max_cycles."""
    profile = load_profile("generic").with_values(
        {**AT_LEAST, "sram_bytes": 4096, "colors": 24, "local_tasks": 8, "dsr_registers": 16}
        | {"microthreads": 8, "xdsr_registers": 8, "operations.fmovs.cycles": ["1/1000"] * 3}
    )
    text = (
        "program self 1 x 1\ncolor x\ncode m\n  buffer v f32 [4]\n  mem1d all v extent 4\n"
        f"{SELVES[what]}place m [0:1, 0:1]\nroute x [0:1, 0:1] rx R tx R\n"
    )
    if "input_queue" not in text:
        text = text.replace("route x [0:1, 0:1] rx R tx R\n", "")
    with pytest.raises(MachineError, match=r"more cycles than allowed: element \(0, 0\), task"):
        Machine(parse_program(text), profile).run(max_cycles=2000)


def test_rates_and_queues_beyond_the_engine_are_named() -> None:
    case = random_case(1)
    generic = load_profile("generic")
    slow = generic.with_values(
        {f"operations.{name}.cycles": [1e12, 1e12, 1e12] for name in generic.operations}
    )
    with pytest.raises(ProgramError, match="cycles per element that are too large, or too fine"):
        Machine(case.program, slow)
    deep = generic.with_values({"router_buffer_words": 10**6})
    text = (
        "program deep 12 x 12\ncolor x\ncode m\n  task main\nplace m [0:12, 0:12]\n"
        "route x [0:12, 0:12] rx W tx E\nedge_output o side E [0:12] color x f32 count 1\n"
        "edge_input i side W [0:12] color x f32 count 1\n"
    )
    with pytest.raises(ProgramError, match="hold more than 134217728 words on generic"):
        Machine(parse_program(text), deep)


LONG = """
program long 1 x 1
code m
  buffer v f32 [8]
  mem4d all v extent [32768, 32768] stride [0, 0]
  mem4d moved v extent [32768, 32768] stride [0, 0] wavelet_index_offset
  task main entry
    @fmovs {operand}
place m [0:1, 0:1]
"""


@pytest.mark.parametrize("operand", ["all, #1.0", "moved, #1.0 index (2)"])
def test_an_operation_longer_than_the_run_is_not_begun(operand: str) -> None:
    machine = Machine(parse_program(LONG.format(operand=operand)), load_profile("wse3-sdk-sim"))
    with pytest.raises(
        MachineError, match=r"@fmovs: it takes 268435456 cycles, more cycles than allowed"
    ):
        machine.run()


@pytest.mark.parametrize(
    "given",
    [
        {"max_cycles": 2**64},
        {"max_cycles": -1},
        {"max_cycles": 1.5},
        {"shuffle": -1},
        {"shuffle": "no"},
        {"timeline": [(0, 1)]},
        {"timeline": [(-1, 0)]},
    ],
)
def test_wrong_settings_of_a_run_are_named(given: dict[str, object]) -> None:
    text = "program p 1 x 1\ncode m\n  task main entry\nplace m [0:1, 0:1]\n"
    machine = Machine(parse_program(text), load_profile("generic"))
    with pytest.raises(MachineError, match=r"is not a whole number|no such element"):
        machine.run(**given)  # type: ignore[arg-type]
