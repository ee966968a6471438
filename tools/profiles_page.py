"""Write docs/profiles.md: the fields of a machine profile, with their values in those that ship.

Run `python tools/profiles_page.py` to write the page anew; tests/test_profiles_page.py compares. A
value with a star is assumed: nobody has published it.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from tilewright.simulator.profiles.profile import Profile, load_profile

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "profiles.md"
NAMES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon", "generic")
WORDS = {
    "name": "Name of the machine.",
    "clock_hz": "Cycles per second.",
    "sram_bytes": "Memory of an element.",
    "sram_reserved_bytes": "Bytes of it that programs cannot use.",
    "colors": "Routable colors.",
    "local_tasks": "Numbers for tasks that no color starts.",
    "microthreads": "Asynchronous operations of an element at a time.",
    "input_queue_words": "Words that each input queue holds, queue 0 first.",
    "output_queue_words": "Words that each output queue holds, queue 2 first.",
    "router_buffer_words": "Words that a router buffers for one color and direction.",
    "border_channels": "Words that enter, and that leave, by one side of a grid in a cycle.",
    "hop_cycles": "From a router to its neighbour.",
    "dispatch_to_link_cycles": "From the dispatch of an operation to its first word on the link.",
    "arrival_to_execute_cycles": "From the arrival of a word to its use.",
    "completion_cycles": "From the last word of an operation to its completion.",
    "cycles_per_wavelet": "Between two words on one link.",
    "descriptor_load_cycles": "To load a descriptor into a register.",
    "descriptor_use_cycles": "From the load of a descriptor to its first use.",
    "extended_descriptor_cycles": "More of the load of a descriptor of several dimensions.",
    "issue_cycles": "To issue an operation.",
    "decode_to_execute_cycles": "From decoding an operation to executing it.",
    "memory_completion_cycles": "After the last element of an operation on memory.",
    "loop_back_edge_cycles": "From the end of a loop's body to its begin.",
    "increment_offset_cycles": "To move a descriptor.",
    "scalar_load_cycles": "To load a scalar.",
    "task_control_cycles": "To activate, block or unblock a task.",
    "scalar_operation_cycles": "Of a scalar instruction.",
    "scalar_operand_cycles": "More of a scalar instruction for each operand in memory.",
    "map_step_cycles": "Of one step of a map.",
    "counter_cycles": "To change a counter.",
    "branch_taken_cycles": "Of a branch that is taken.",
    "branch_not_taken_cycles": "Of a branch that is not taken.",
    "task_switch_cycles": "Between two tasks.",
    "task_end_cycles": "After a task, before the main thread begins another one.",
    "explicit_microthread": "An operation names its microthread; else its queue does.",
    "priority_on_descriptors": "Descriptors carry the priority; else operations and queues do.",
    "fabric_inputs_per_operation": "Operands of one operation that may come from the fabric.",
    "dsr_registers": "Registers for descriptors, in each file.",
    "xdsr_registers": "Extended registers.",
    "stride_registers": "Stride registers.",
    "fifo_full_action": "FIFOs have a full action.",
    "fifo_alignment_bytes": "Alignment of the memory of a FIFO.",
    "fifo_simd": "FIFOs may have a SIMD mode.",
    "switch_both_directions": "One switch position may change rx and tx.",
    "queue_flush": "A task can wait until a queue is empty.",
    "unblocks_queues": "Input queues are blocked and unblocked; else colors are.",
    "color_swap": "Routes may swap the colors of a pair.",
    "switchable_colors": "Colors whose routes may have switches.",
    "filter_counter_inclusive": "The counter of a filter runs over 0 to limit, both included.",
    "bank_conflict_factor": "How much longer two reads take that meet on one bank.",
    "stride_limits": "How strides limit the elements per cycle.",
    "operations": "Timing of each operation, below.",
}
HEAD = """# The machine profile

A profile holds every number of one machine, in one YAML file: sizes, times in cycles, features. The
engine knows no other numbers, so a machine of yours is a file of yours: copy one of
`simulator/profiles/`, change it, check it with `tilewright validate mine.yaml`, and give its path
to `--machine mine.yaml` or to `machine:` of a study. A field of it can be a knob
(`machine.hop_cycles: {values: [1, 2]}`).

Each number has its origin, or the file is refused:

    hop_cycles: {value: 1, source: "HPDC'24 (arXiv 2404.15888): 1 cycle per hop"}
    completion_cycles: {value: 0, assumed: "as WSE-3"}

What rests on an assumed number says so: `result.assumed` of a run and `execution.assumed` of
mappings list them. Below, such values have a star. [theory/wafer.md](theory/wafer.md) derives the
times; this page is written by `tools/profiles_page.py`.

## Fields

"""
OPERATIONS = """
## Operations

`operations` is a list of groups of operations on descriptors that have one timing. A group of
`group` elements takes `cycles[s]` cycles if `s` of its sources (0, 1, 2) come from memory; a
reduction into a scalar takes `reduction` cycles for each element.

    operations:
    - names: [fmacs]
      group: 1
      cycles: [1, 1, 1]
      reduction: 2
      source: "one element per cycle, two where both memory sources lie in one bank"

The table has cycles per element with 0, 1 and 2 sources in memory, then in a reduction.

"""


def page() -> str:
    """Return the page as it should be."""
    profiles = [load_profile(name) for name in NAMES]
    head = f"| field | what | {' | '.join(NAMES)} |\n|---|---|{'---|' * len(NAMES)}\n"
    shown = [f.name for f in fields(Profile) if f.name not in ("name", "operations", "sources")]
    rows = [
        f"| `{name}` | {WORDS[name]} | {' | '.join(_value(p, name) for p in profiles)} |\n"
        for name in shown
    ]
    timings = f"| operation | {' | '.join(NAMES)} |\n|---|{'---|' * len(NAMES)}\n"
    operations = sorted({name for p in profiles for name in p.operations})
    for name in operations:
        timings += f"| `{name}` | {' | '.join(_timing(p, name) for p in profiles)} |\n"
    return HEAD + head + "".join(rows) + OPERATIONS + timings


def _value(profile: Profile, name: str) -> str:
    value = getattr(profile, name)
    star = "\\*" if profile.sources.get(name, "").startswith("assumed") else ""
    return f"{_words(value)}{star}"


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        if len(value) > 8:
            return f"{value[0]} to {value[-1]}" if _is_range(value) else f"{len(value)} of them"
        return ", ".join(map(str, value))
    return f"{value:,.12g}" if isinstance(value, float) else str(value)


def _is_range(value: tuple[int, ...]) -> bool:
    return value == tuple(range(value[0], value[-1] + 1))


def _timing(profile: Profile, name: str) -> str:
    timing = profile.operations.get(name)
    if timing is None:
        return "–"
    return " ".join(str(timing.per_element(s)) for s in range(3)) + f"; {timing.reduction}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
