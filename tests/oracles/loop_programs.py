"""Random programs with nests of loops: three elements that hand on tiles from border to border."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tilewright.simulator.program.program import Program
from tilewright.simulator.text.parsing import parse_program

FRAME = """program loops 1 x 3
color a
color b
color c
color d
{codes}route a [0:1, 0:1] rx W tx R
route b [0:1, 0:1] rx R tx E
route b [0:1, 1:2] rx W tx R
route c [0:1, 1:2] rx R tx E
route c [0:1, 2:3] rx W tx R
route d [0:1, 2:3] rx R tx E
edge_input xs side W [0:1] color a f32 count {words}
edge_output ys side E [0:1] color d f32 count {words}
"""
CODE = """code {name}
  buffer v f32 [9000]
  mem1d tile v extent {tile}
  mem1d first v extent 40 offset 100
  mem1d second v extent 40 offset 200
  mem1d short v extent 7 offset 300
  input_queue 2 {taken}
  output_queue 3 {sent}
  fabin in queue 2 extent {tile}
  fabout out queue 3 extent {tile}
  task main entry
{body}place {name} [0:1, {column}:{after}]
"""


def loop_program(seed: int) -> Program:
    """Return a program whose elements have nests of other loops around as many tiles."""
    rng = random.Random(seed)
    counts = [rng.choice([2, 3, 7, 12, 20]) for _ in range(rng.choice([1, 2, 2, 3]))]
    tile, tiles = rng.choice([1, 4, 9, 40]), 1
    for count in counts:
        tiles *= count
    codes = ""
    for column, name in enumerate(("west", "middle", "east")):
        nest = _other_nest(rng, counts)
        body = "\n".join(_nest(rng, nest, 0)) + "\n"
        codes += CODE.format(
            name=name, tile=tile, taken="abc"[column], sent="bcd"[column],
            body=body, column=column, after=column + 1,
        )  # fmt: skip
    return parse_program(FRAME.format(codes=codes, words=tiles * tile), "loops")


def _other_nest(rng: random.Random, counts: Sequence[int]) -> list[int]:
    """Return counts of loops with the same product: some neighbouring loops are one."""
    nest = [counts[0]]
    for count in counts[1:]:
        if rng.random() < 0.3:
            nest[-1] *= count
        else:
            nest.append(count)
    return nest


def _nest(rng: random.Random, counts: Sequence[int], level: int) -> list[str]:
    """Return the lines of the loops from a level on."""
    indent = "    " + "  " * level
    if level == len(counts):
        return [indent + line for line in _tile(rng, level)]
    extra = [indent + line for line in _work(rng, level)] if rng.random() < 0.5 else []
    return [*extra, f"{indent}loop i{level} {counts[level]}", *_nest(rng, counts, level + 1)]


def _tile(rng: random.Random, levels: int) -> list[str]:
    counter = rng.choice(["k", f"i{rng.randrange(levels)}"])
    send = ["@fmovs out, tile"]
    if rng.random() < 0.5:
        send = [
            f"if {counter} < {rng.choice([1, 2, 5, 40])}",
            *(f"  {work}" for work in _work(rng, levels)),
            *("else", "  @fmovs short, short", *send),
        ]
    return ["@fmovs tile, in", *_work(rng, levels), *send]


def _work(rng: random.Random, levels: int) -> list[str]:
    """Return operations on memory; operands move with a counter, so that banks meet or not."""
    if not levels:
        return ["@fmovs first, second"]
    counter = f"i{rng.randrange(levels)}"
    moved = f"[{rng.choice([1, 2, 4, 8])}*{counter}]"
    blocks = [
        [f"@fadds first, first, second{moved}"],
        [f"@fmacs short, short, short, v({counter})"],
        [f"add k {rng.choice([1, 3])}"],
        ["set n 2"],
        [f"x = add.f32 v({counter}), #1.0", "v(9) = mul.f32 x, #2.0"],
        [f"map y from short{moved}", "  @fmacs first, first, second, =y"],
        [f"map p from first, q from second{moved} to short as q", "  q = add.f32 p, q"],
        [
            "load %dsr_dest 1 first",
            "load %dsr_src0 1 first",
            f"load %dsr_src1 1 second{moved} save_address",
            f"loop turn {rng.choice([2, 3])}",
            "  @fadds %dsr_dest 1, %dsr_src0 1, %dsr_src1 1",
        ],
    ]
    return [line for block in rng.sample(blocks, k=rng.choice([1, 2, 3])) for line in block]
