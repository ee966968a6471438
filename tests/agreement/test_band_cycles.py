"""Cycles of one of each kind of bands of a grid, beside the reference engine on the whole grid."""

import random
from collections.abc import Iterator

import pytest
from explore import at_night
from tests.agreement.test_column_cycles import mapped_programs, whole_cycles

from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.quotient.bands import one_of_each_band
from tilewright.simulator.quotient.pattern_cycles import bands_of, pattern_cycles
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
PROFILES = (WSE3, load_profile("wse2-sdk-sim"), load_profile("generic"))


def band_program(seed: int) -> tuple[Program, int]:
    """Return a drawn program of bands of rows that hand sums on, and the rows of one of each.

    A kind of bands has its height, its words and its work. The last band may hand its sums on to a
    port in the south: then it is of a kind of its own.
    """
    rng = random.Random(seed)
    kinds = [(rng.randrange(1, 4), rng.randrange(1, 6), rng.choice([0, 2, 9])) for _ in range(2)]
    bands = rng.choices(range(len(kinds)), k=rng.randrange(3, 7))
    leaves, width = rng.random() < 0.4, rng.randrange(1, 5)
    height = sum(kinds[kind][0] for kind in bands)
    lines = [f"program bands {height} x {width}", "color xs", "color c0", "color c1"]
    for kind, (rows, words, work) in enumerate(kinds):
        for row in range(rows):
            lines += _code(f"k{kind}r{row}", row, words, work, sends=row < rows - 1)
    lines += _code("last", kinds[bands[-1]][0] - 1, *kinds[bands[-1]][1:], sends=True)
    lines += _places(kinds, bands, width, leaves=leaves)
    kept = [(kind, leaves and place == len(bands) - 1) for place, kind in enumerate(bands)]
    return parse_program("\n".join([*lines, ""]), "bands"), sum(kinds[k][0] for k, _ in set(kept))


def _code(name: str, row: int, words: int, work: int, *, sends: bool) -> Iterator[str]:
    yield f"code {name}\n  buffer v f32 [64]\n  mem1d tile v extent {words}"
    yield f"  input_queue 2 xs\n  fabin in queue 2 extent {words}"
    if sends:
        yield f"  output_queue 3 c{row % 2}\n  fabout out queue 3 extent {words}"
    if row:
        yield f"  input_queue 5 c{(row - 1) % 2}\n  fabin above queue 5 extent {words}"
    yield "  task main entry\n    @fmovs tile, in"
    if work:
        yield f"    loop q {work}\n      @fmuls tile, tile, #2.0"
    if row:
        yield "    @fadds tile, tile, above"
    if sends:
        yield "    @fmovs out, tile"


def _places(
    kinds: list[tuple[int, int, int]], bands: list[int], width: int, *, leaves: bool
) -> Iterator[str]:
    first, every = 0, f"0:{width}"
    for place, kind in enumerate(bands):
        rows, words, _ = kinds[kind]
        out = leaves and place == len(bands) - 1
        for row in range(rows):
            here, sends = f"[{first + row}:{first + row + 1}, {every}]", row < rows - 1
            yield f"place {'last' if out and not sends else f'k{kind}r{row}'} {here}"
            if sends or out:
                yield f"route c{row % 2} {here} rx R tx S"
            if row:
                yield f"route c{(row - 1) % 2} {here} rx N tx R"
        area = f"{first}:{first + rows}"
        if width > 1:
            yield f"route xs [{area}, 0:{width - 1}] rx W tx ER"
        yield f"route xs [{area}, {width - 1}:{width}] rx W tx R"
        yield f"edge_input x{place} side W [{area}] color xs f32 count {words}"
        if out:
            color = f"c{(rows - 1) % 2}"
            yield f"edge_output z side S [{every}] color {color} f32 count {words}"
        first += rows


@pytest.mark.parametrize("seed", [*range(16), *at_night(*range(16, 1000))])
def test_drawn_programs(seed: int) -> None:
    program, rows = band_program(seed)
    profile = PROFILES[seed % len(PROFILES)]
    kept = bands_of(program, profile)
    assert (kept.height, kept.width) == (rows, program.width)
    assert Machine(kept, profile).cycles() == whole_cycles(program, profile)


@pytest.mark.parametrize(
    ("form", "size"),
    [(3, (4, 24)), (4, (4, 24)), (5, (4, 24)), (4, (12, 8)), (4, (20, 6))],
)
@pytest.mark.parametrize("most", [4, *at_night(12)])
def test_mappings(form: int, size: tuple[int, int], most: int) -> None:
    fewer = 0
    for program in mapped_programs(form, *size, most=most):
        kept = bands_of(program, WSE3)
        fewer += kept.placement.size < program.placement.size
        assert Machine(kept, WSE3).cycles() == whole_cycles(program, WSE3)
    assert fewer


TEXT = """program sums 6 x 2
color xs
color c
code top
  buffer v f32 [8]
  mem1d tile v extent 4
  input_queue 2 xs
  output_queue 3 c
  fabin in queue 2 extent 4
  fabout out queue 3 extent 4
  task main entry
    @fmovs tile, in
    @fmovs out, tile
code bottom
  buffer v f32 [8]
  mem1d tile v extent 4
  input_queue 2 c
  fabin in queue 2 extent 4
  task main entry
    @fmovs tile, in
place top [0:1, 0:2]
place bottom [1:2, 0:2]
place top [2:3, 0:2]
place bottom [3:4, 0:2]
place top [4:5, 0:2]
place bottom [5:6, 0:2]
route c [0:1, 0:2] rx R tx S
route c [1:2, 0:2] rx N tx R
route c [2:3, 0:2] rx R tx S
route c [3:4, 0:2] rx N tx R
route c [4:5, 0:2] rx R tx S
route c [5:6, 0:2] rx N tx R
route xs [0:1, 0:1] rx W tx ER
route xs [0:1, 1:2] rx W tx R
route xs [2:3, 0:1] rx W tx ER
route xs [2:3, 1:2] rx W tx R
route xs [4:5, 0:1] rx W tx ER
route xs [4:5, 1:2] rx W tx R
edge_input a side W [0:1] color xs f32 count 4
edge_input b side W [2:3] color xs f32 count 4
edge_input d side W [4:5] color xs f32 count 4
"""


def test_bands_of_two_rows() -> None:
    kept = one_of_each_band(parse_program(TEXT, "sums"))
    assert (kept.height, kept.width) == (2, 2)
    assert [port.name for port in kept.edge_inputs] == ["a"]


def test_a_band_with_another_port_is_kept() -> None:
    """It has as many words, which come later, so the run ends later."""
    program = parse_program(TEXT.replace("count 4\nedge_input d", "count 4 start 50\nedge_input d"))
    kept = one_of_each_band(program)
    assert (kept.height, kept.width) == (4, 2)
    assert Machine(kept, WSE3).cycles() == whole_cycles(program, WSE3) > 50


def test_bands_of_columns() -> None:
    """The codes of columns that nothing joins: one column is left."""
    rows = "\n".join(line for line in TEXT.splitlines() if "xs [" not in line)
    ports = [line for line in rows.splitlines() if not line.startswith("edge_input")]
    text = "\n".join(ports).replace("@fmovs tile, in\n    @fmovs out", "@fmovs out")
    program = parse_program(text + "\n", "columns")
    kept = one_of_each_band(program)
    assert (kept.height, kept.width) == (2, 1)
    assert Machine(kept, WSE3).cycles() == whole_cycles(program, WSE3)


BY_DATA = "    k = add.i32 #1, #2\n    if k < 2\n      @fmovs out, tile"


def test_bands_whose_work_depends_on_data_are_all_kept() -> None:
    program = parse_program(TEXT.replace("    @fmovs out, tile", BY_DATA), "sums")
    assert bands_of(program, WSE3) is program


def test_a_run_of_one_band_proves_the_cycles() -> None:
    """Sums along the rows leave no column alone, and too few lines repeat."""
    text, rows = TEXT, 6
    for _ in range(2):
        text, rows = _twice(text, rows), 2 * rows
    program = parse_program(text, "sums")
    found = pattern_cycles(program, WSE3)
    assert (found.cycles, found.elements) == (whole_cycles(program, WSE3), 4)


def _twice(text: str, rows: int) -> str:
    """Return the text of a program with its rows twice, one behind the other."""
    lines = []
    for line in text.splitlines():
        lines.append(line.replace(f"program sums {rows}", f"program sums {2 * rows}"))
        if line.startswith(("place", "route", "edge_input")):
            head, rest = line.split("[", 1)
            first, end = rest.split(",")[0].split("]")[0].split(":")
            moved = rest.replace(f"{first}:{end}", f"{int(first) + rows}:{int(end) + rows}", 1)
            name = head.replace("edge_input ", f"edge_input t{rows}")
            lines.append(f"{name}[{moved}")
    return "\n".join([*lines, ""])
