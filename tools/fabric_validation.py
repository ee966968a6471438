"""Compute docs/validation/fabric.md: the machine's cycles beside recorded ones.

Run `python tools/fabric_validation.py` to write the page anew; a test compares it. The prose is in
fabric_page.md.j2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isqrt
from pathlib import Path

import numpy as np
from jinja2 import StrictUndefined, Template

from tilewright.simulator.check.limits import MAX_FABRIC_EXTENT
from tilewright.simulator.examples.collectives_library import KINDS
from tilewright.simulator.examples.known_costs import (
    chain_reduce,
    message,
    relay,
    two_phase_reduce,
    vector_operation,
)
from tilewright.simulator.examples.library_programs import (
    Matrix,
    library_calls,
    library_gemv,
    library_summa,
)
from tilewright.simulator.examples.published_collectives import (
    aliased_operation,
    broadcast,
    star_reduce,
)
from tilewright.simulator.examples.ring_all_reduce import ring_all_reduce
from tilewright.simulator.examples.tree_reduce import tree_reduce
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.text.parsing import parse_program

TEMPLATE = Path(__file__).parent / "fabric_page.md.j2"
PAGE = Path(__file__).parent.parent / "docs" / "validation" / "fabric.md"
ELEMENTS, WORDS = 512, 4096
REDUCTIONS = ((2, 10055), (8, 9117), (16, 8989), (32, 8973), (128, 9297), (512, 7218))
"""(elements per group, recorded cycles); one group of all elements is the chain."""
LIBRARY_GEMV = ((2, 3212), (4, 3670), (8, 3921))
"""(elements of a side, recorded cycles) of GEMV with the SDK's collectives library."""
LIBRARY_SUMMA = (4, 14)
"""Elements of a side, and the side of a tile."""
OPERATIONS = ((8, 11), (16, 13), (64, 25))
"""(extent, recorded cycles) of a 16-bit operation on two memory vectors."""
TSC_CYCLES = 36 - 19
"""A message timed by the time stamp counter (36) less the traced message (19)."""


@dataclass(frozen=True)
class Row:
    """A simulated figure beside a recorded or published one."""

    name: str
    simulated: int
    recorded: float

    @property
    def error(self) -> float:
        return (self.simulated - self.recorded) / self.recorded

    def __str__(self) -> str:
        return f"| {self.name} | {self.simulated} | {self.recorded:g} | {self.error:+.2%} |"


def run(program: Program, profile: str) -> RunResult:
    """Run a program on a shipped profile, with its timeline."""
    return Machine(program, load_profile(profile)).run(timeline=program.width < 16)


def reduction_rows(
    reductions: Iterable[tuple[int, int]] = REDUCTIONS, size: tuple[int, int] = (ELEMENTS, WORDS)
) -> list[Row]:
    """Chain and two-phase reduction on wse2-sdk-sim (wafer.md §8.1).

    reductions: (elements per group, recorded cycles); size: elements and f32 of each.
    """
    rows = []
    for group, recorded in reductions:
        if group == size[0]:
            program, name = chain_reduce(*size), "chain"
        else:
            program = two_phase_reduce(*size, group)
            name = f"two-phase, groups of {group}"
        rows.append(Row(name, run(program, "wse2-sdk-sim").cycles, recorded))
    return rows


def message_cycles(words: int = 8, hops: int = 1) -> int:
    """A message on wse3-sdk-sim, send dispatch to completion task (wafer.md §8.3)."""
    timeline = run(message(words, hops), "wse3-sdk-sim").trace.timeline
    sent = next(e.start for e in timeline if e.label == "send")
    done = next(e.start for e in timeline if e.operation == "task" and e.task == "done")
    return done - sent


MESSAGES = tuple((words, hops) for words in (1, 2, 7, 33, 500) for hops in (1, 2, 5, 12))


def message_errors() -> list[int]:
    """The cycles by which messages differ from 7 + (B - 1) + 2 hops + 3, as the trace shows it."""
    return sorted({message_cycles(b, hops) - (7 + b - 1 + 2 * hops + 3) for b, hops in MESSAGES})


def operation_rows(operations: Iterable[tuple[int, int]] = OPERATIONS) -> list[Row]:
    """One synchronous 16-bit operation on two memory vectors, wse3-sdk-sim (wafer.md §4.1).

    operations: (extent, recorded cycles).
    """
    return [
        Row(
            f"add16, n = {n}", run(vector_operation("add16", n, 2, "i16"), "wse3-sdk-sim").cycles, r
        )
        for n, r in (*operations, *((n, 9 + 2 * -(-n // 8)) for n in (1, 9, 100, 1000)))
    ]


def relay_rows() -> list[Row]:
    """Store-and-forward relay on wse3-sdk-sim against the published fit (wafer.md §8.2)."""
    return [_relay(stages, words) for words in (64, 512) for stages in (1, 2, 4, 8)]


def relay_between_rows() -> list[Row]:
    """The relay at sizes that the fit was not made from."""
    sizes = ((3, 100), (5, 200), (6, 32), (12, 1000), (3, 16), (2, 8), (1, 16), (1, 1))
    return [_relay(stages, words) for stages, words in sizes]


def _relay(stages: int, words: int) -> Row:
    cycles = run(relay(stages, words), "wse3-sdk-sim").cycles + TSC_CYCLES
    fit = 1.001 * stages * words + 16.1 * stages + 16.5
    return Row(f"{stages} stages, {words} words", cycles, round(fit, 1))


def chain_rows() -> list[Row]:
    """Chains on wse2-sdk-sim against B + (2 T_R + 2)(P - 1), T_R = 2 (wafer.md §7.1)."""
    return [
        Row(
            f"P = {elements}, B = {words}",
            run(chain_reduce(elements, words), "wse2-sdk-sim").cycles,
            words + 6 * (elements - 1),
        )
        for elements, words in ((8, 256), (64, 16), (64, 1024), (512, 1))
    ]


BANKS = (
    ("fmuls", 5124, 0, 10254),
    ("fmuls", 1028, 0, 2062),
    ("fmuls", 5124, 2, 5130),
    ("fadds", 5124, 4, 2597),
)
"""(operation, extent, words between the banks, recorded cycles) of wafer.md §8.5."""
RATES = (
    ("fmovh", "f16", 1, 15, 8.0),
    ("fmovs", "f32", 1, 15, 4.0),
    ("faddh", "f16", 2, 9, 3.96),
    ("fmulh", "f16", 2, 9, 3.96),
    ("add16", "i16", 2, 9, 3.96),
)
"""(operation, dtype, memory sources, setup cycles, elements per cycle) of the simulator, FAB."""
LOCKSTEP = 2048, 514
"""(extent, recorded cycles) from dispatch to end of an add16 that blocks the main thread."""


def bank_rows(banks: Iterable[tuple[str, int, int, int]] = BANKS) -> list[Row]:
    """One f32 operation on memory, operands on the same and on different banks (wafer.md §8.5).

    banks: as in BANKS.
    """
    rows = []
    for operation, extent, distance, recorded in banks:
        program = aliased_operation(operation, extent, distance)
        where = "the same bank" if distance == 0 else "different banks"
        cycles = run(program, "wse2-sdk-sim").cycles
        rows.append(Row(f"{operation}, n = {extent}, {where}", cycles, recorded))
    return rows


def rate_rows() -> list[Row]:
    """Short and long operations on wse3-sdk-sim against setup + n / rate (wafer.md §3.2)."""
    rows = []
    for operation, dtype, sources, setup, rate in RATES:
        for extent in (64, 4000):
            program = vector_operation(operation, extent, sources, dtype)
            cycles = run(program, "wse3-sdk-sim").cycles
            rows.append(Row(f"{operation}, n = {extent}", cycles, round(setup + extent / rate, 1)))
    extent, recorded = LOCKSTEP
    entries = run(vector_operation("add16", extent, 2, "i16"), "wse3-sdk-sim").trace.timeline
    one = next(entry for entry in entries if entry.operation == "add16")
    rows.append(Row(f"add16, n = {extent}, dispatch to end", one.end - one.start, recorded))
    return rows


TILES = """program tiles 1 x 1
code m
  buffer a {dtype} [{elements}]
  buffer b {dtype} [{elements}]
  buffer s {dtype} [1]
  mem1d A a extent {extent}
  mem1d B b extent {extent}
  task main entry
    {body}
place m [0:1, 0:1]
"""
KERNELS = (
    ("one fmach", 4096, "@fmach A, A, B, #2.0", 1040),
    ("a loop of 256 fmach", 16, "loop i 256\n      @fmach A[16*i], A[16*i], B[16*i], #2.0", 4617),
)
"""(name, extent, instructions, recorded cycles) of 4096 multiply-accumulates, FAB §10."""
SETUPS = (
    ("faddh into a scalar", "@faddh s(0), #0.0, A", 8, 2.0),
    ("dot product, fmulh and faddh", "@fmulh B, A, B\n    @faddh s(0), #0.0, B", 20, 2.25),
    ("fill, fmovh", "@fmovh A, #1.0", 8, 1 / 7.93),
    ("fmach", "@fmach A, A, B, #2.0", 16, 0.25),
    ("fmacs", "@fmacs A, A, B, #2.0", 17, 2.0),
)
"""(name, instructions, setup cycles, cycles per element) of the simulator, FAB §3."""


MATVEC = """program matvec 1 x 1
code m
  buffer y f32 [28]
  buffer apart f32 [1]
  buffer a f32 [25, 28]
  buffer x f32 [25]
  mem1d y_all y extent 28
  mem1d column a extent 28
  mem1d x_all x extent 25
  task main entry
    load %dsr_dest 1 y_all
    load %dsr_src0 1 y_all
    load %dsr_src1 1 column save_address
    map value from x_all
      @fmacs %dsr_dest 1, %dsr_src0 1, %dsr_src1 1, =value
place m [0:1, 0:1]
"""
"""The SDK's single-tile-matvec: recorded 780 cycles (FABRICA, kernels/baselines_wse3.json)."""


def kernel_rows() -> list[Row]:
    """Reductions, products and nests on one element of wse3-sdk-sim (wafer.md §3.2, §4.1)."""
    rows = []
    for name, extent, body, recorded in KERNELS:
        rows.append(Row(f"{name}, n = {extent}", tiles(4096, extent, body), recorded))
    matvec = run(parse_program(MATVEC), "wse3-sdk-sim").cycles
    rows.append(Row("single-tile-matvec, 25 columns of 28", matvec, 780))
    for name, body, setup, each in SETUPS:
        for extent in (64, 2000):
            cycles = tiles(extent, extent, body)
            rows.append(Row(f"{name}, n = {extent}", cycles, round(setup + each * extent, 1)))
    return rows


def tiles(elements: int, extent: int, body: str) -> int:
    """Return the cycles of a task on vectors of one element."""
    dtype = "f32" if "fmacs" in body else "f16"
    text = TILES.format(dtype=dtype, elements=elements, extent=extent, body=body)
    return run(parse_program(text), "wse3-sdk-sim").cycles


OVERLAP = """program overlap 1 x 1
color x 0
code m
  buffer came f32 [{words}]
  buffer a f32 [200]
  buffer b f32 [200]
  mem1d all_came came extent {words}
  mem1d A a extent 200
  mem1d B b extent 200
  fabin in queue 2 extent {words} priority {priority}
  input_queue 2 x
  task main entry
    @fmovs all_came, in async
    loop i 10
      @fmacs A, A, B, #2.0
place m [0:1, 0:1]
route x [0:1, 0:1] rx N tx R
edge_input xs side N [0:1] color x f32 count {words} interval 1 start 0
"""


def overlap_cycles(words: int, priority: str) -> int:
    """Return the cycles of 10 multiply-adds of 200 elements with a receive beside them."""
    program = parse_program(OVERLAP.format(words=words, priority=priority))
    machine = Machine(program, load_profile("wse3-sdk-sim"))
    return machine.run(edges={"xs": np.zeros((1, words))}).cycles


def overlap_rows() -> list[Row]:
    """A receive beside work on memory, by its priority: one cycle per word (wafer.md §4.2)."""
    alone = overlap_cycles(1, "low")
    return [
        Row(f"{words} words, {priority}", overlap_cycles(words, priority), alone + words - 1)
        for words in (100, 1000)
        for priority in ("low", "medium", "high")
    ]


def tree_form(elements: int, words: int) -> float:
    """The closed form of a tree reduction (wafer.md §7.1), T_R = 2."""
    rounds = elements.bit_length() - 1
    flow = words * elements / (2 * (elements - 1)) * rounds + elements - 1
    return max(words * rounds, flow) + 5 * rounds


def collective_rows() -> list[Row]:
    """Collectives on wse2-sdk-sim against closed forms on the sampled sizes (wafer.md §7.1)."""
    rows = []
    for elements, words in ((8, 1), (8, 256), (64, 16), (512, 1)):
        size = f"P = {elements}, B = {words}"
        star = run(star_reduce(elements, words), "wse2-sdk-sim").cycles
        rows.append(Row(f"star, {size}", star, words * (elements - 1) + 5))
        tree = run(tree_reduce(elements, words), "wse2-sdk-sim").cycles
        rows.append(Row(f"tree, {size}", tree, int(tree_form(elements, words))))
        flood = run(broadcast(1, elements, words), "wse2-sdk-sim").cycles
        rows.append(Row(f"broadcast, {size}", flood, words + elements + 4))
    for elements, words in ((64, 16), (64, 256), (256, 1024), (16, 100), (256, 64), (400, 300)):
        group = isqrt(elements)
        cycles = run(two_phase_reduce(elements, words, group), "wse2-sdk-sim").cycles
        form = 2 * words + elements - 1 + 5 * (2 * group - 2)
        rows.append(Row(f"two-phase, P = {elements}, B = {words}", cycles, form))
    for side, words in ((8, 256), (32, 64)):
        cycles = run(broadcast(side, side, words), "wse2-sdk-sim").cycles
        rows.append(Row(f"broadcast, {side} x {side}, B = {words}", cycles, words + 2 * side + 3))
    return rows


BETWEEN = ((16, 512), (32, 128), (128, 64), (256, 2048), (512, 256))
"""(P, B) that no published table holds."""


def between_rows() -> list[Row]:
    """The closed forms at sizes between and beyond the sampled ones, on wse2-sdk-sim."""
    rows = []
    for elements, words in BETWEEN:
        forms = (
            ("chain", chain_reduce, words + 6 * (elements - 1)),
            ("star", star_reduce, words * (elements - 1) + 5),
            ("tree", tree_reduce, int(tree_form(elements, words))),
            ("broadcast", lambda p, b: broadcast(1, p, b), words + elements + 4),
        )
        for name, make, form in forms:
            if name == "star" and form > MAX_FABRIC_EXTENT:
                continue  # the root takes all words by one operation
            cycles = run(make(elements, words), "wse2-sdk-sim").cycles
            rows.append(Row(f"{name}, P = {elements}, B = {words}", cycles, form))
    return rows


RINGS = ((8, 256), (16, 4096), (64, 1024), (64, 4096))


def ring_rows() -> list[Row]:
    """Ring all-reduce on wse2-sdk-sim: 2 (P - 1) B / P + 4 P - 6 + 2 (P - 1) (2 T_R + 1)."""
    return [
        Row(
            f"P = {elements}, B = {words}",
            run(ring_all_reduce(elements, words), "wse2-sdk-sim").cycles,
            2 * (elements - 1) * words // elements + 4 * elements - 6 + 10 * (elements - 1),
        )
        for elements, words in RINGS
    ]


def ring_operations(elements: int, words: int) -> int:
    """Words that an inner element of the ring's program handles, one a cycle."""
    chunk = words // elements
    return elements * chunk + (elements - 1) * chunk + 2 * chunk


def spada_rows() -> list[Row]:
    """The two programs of SPADA's table whose shapes are given (wafer.md §8.4)."""
    rows = []
    for profile, copied, reduced in (("wse2-sdk-sim", 22, 3920), ("wse3-sdk-sim", 21, 3090)):
        rows.append(
            Row(f"copy N = 4, K = 4, {profile}", run(message(4, 3), profile).cycles, copied)
        )
        cycles = run(chain_reduce(15, 128), profile).cycles
        rows.append(Row(f"reduce N = 15, K = 128, {profile}", cycles, reduced))
    return rows


def gemv_rows() -> list[Row]:
    """GEMV by calls of the collectives library, tiles of 8 x 4 f32 (FABRICA's totals)."""
    rows = []
    for size, recorded in LIBRARY_GEMV:
        program = library_gemv(Matrix(size, size), Matrix(8, 4))
        cycles = run(program, "wse3-sdk-sim").cycles
        rows.append(Row(f"GEMV, {size} x {size} elements", cycles, recorded))
    return rows


def library_rows() -> list[Row]:
    """SUMMA by calls of the collectives library, and a sum by a tree (FABRICA's totals)."""
    summa = run(library_summa(*LIBRARY_SUMMA), "wse3-sdk-sim").cycles
    tree = run(tree_reduce(4, 128), "wse3-sdk-sim").cycles
    return [
        Row("SUMMA, 4 x 4 elements, tiles of 14 x 14", summa, 51425),
        Row("tree sum, 4 x 1 elements, 128 words", tree, 1990),
    ]


def call_rows() -> list[tuple[str, int]]:
    """Return (kind, cycles) of one call of the collectives library, 4 words on 4 elements."""
    return [(kind, run(library_calls(4, 4, [(kind, 3)]), "wse3-sdk-sim").cycles) for kind in KINDS]


def missing(row: Row, parts: int) -> int:
    """Return how many cycles of each of some equal parts are recorded, but not simulated."""
    return round((row.recorded - row.simulated) / parts)


def table(rows: list[Row], other: str) -> str:
    """Return rows as a table."""
    head = f"| case | simulated cycles | {other} | error |\n|---|---:|---:|---:|"
    return "\n".join([head, *map(str, rows)])


def page() -> str:
    """Return the text of the page: its prose with the figures that this module computes."""
    prose = TEMPLATE.read_text(encoding="utf-8")
    template = Template(prose, undefined=StrictUndefined, keep_trailing_newline=True)
    return str(template.render(globals()))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
