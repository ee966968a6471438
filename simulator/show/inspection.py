"""A program before it runs: memory map and registers per code, colors per link.

`inspect_program(program, profile)` gives the numbers; `str()` of the result is the text for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.check.register_count import RegisterNeed, register_needs
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.compile.fabric.steering import all_directions
from tilewright.simulator.instructions.router_changes import route_changes
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_operations
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import PORTS, Route


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """A piece of an element's SRAM, from byte `start` to before byte `end`.

    `buffer`: name of the array in it, empty for free space; `dtype`: of its values.
    """

    start: int
    end: int
    buffer: str
    dtype: str = ""

    @property
    def bank(self) -> int:
        """The memory bank, 0 to 7, of its first 16-bit word."""
        return self.start // 2 % BANKS


@dataclass(frozen=True, slots=True)
class CodeResources:
    """What each element of one code (program of a class of elements) uses of the machine.

    `name`: of the code; `elements`: how many run it; `memory`: pieces of the SRAM in order of
    addresses; `free_bytes`; `input_queues`, `output_queues`: (number, color, capacity in words);
    `tasks`: (name, what starts it); `registers`: needed by kind; `operations`: on descriptors.
    """

    name: str
    elements: int
    memory: tuple[MemoryRange, ...]
    """The whole SRAM that programs may use, in order of addresses."""
    free_bytes: int
    input_queues: tuple[tuple[int, str, int], ...]
    output_queues: tuple[tuple[int, str, int], ...]
    tasks: tuple[tuple[str, str], ...]
    registers: tuple[RegisterNeed, ...]
    operations: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a program uses of a machine; str() gives it as text.

    `codes`: by class of elements; `link_colors`: array (H, W, 5) with a bit per color id for the
    colors that may leave a router by N, E, S, W, R; `colors`: (id, name).
    """

    codes: tuple[CodeResources, ...]
    link_colors: npt.NDArray[np.int64]
    colors: tuple[tuple[int, str], ...]

    def colors_of(self, row: int, column: int, port: str) -> tuple[str, ...]:
        """Return the names of the colors that may leave the router of an element by a port.

        `port`: one of N E S W R; ValueError for another one.
        """
        bits = int(self.link_colors[row, column, PORTS.index(port)])
        return tuple(name for number, name in self.colors if bits >> number & 1)

    @property
    def most_colors(self) -> int:
        """The greatest number of colors that share one link."""
        counts = (self.link_colors[..., None] >> np.arange(64)) & 1
        return int(counts.sum(axis=-1).max(initial=0))

    def __str__(self) -> str:
        lines = [line for code in self.codes for line in _describe(code)]
        lines.append(f"links: at most {_counted(self.most_colors, 'color')} on one")
        for number, name in self.colors:
            links = int((self.link_colors >> number & 1).sum())
            lines.append(f"  color {name} ({number}) on {_counted(links, 'link')}")
        return "\n".join(lines) + "\n"


def inspect_program(program: Program, profile: Profile) -> Inspection:
    """Return what a program uses of a machine (SRAM, queues, registers, links), without running it.

    `profile`: the numbers of the machine.
    """
    counts = np.bincount(program.placement.ravel(), minlength=len(program.codes))
    codes = tuple(
        _code(code, int(count), profile) for code, count in zip(program.codes, counts, strict=True)
    )
    colors = tuple(sorted((color.id, color.name) for color in program.colors))
    return Inspection(codes, _link_colors(program), colors)


def _link_colors(program: Program) -> npt.NDArray[np.int64]:
    """Return (H, W, 5) masks, a bit per color id: colors that may leave by each port.

    They leave by a route, or by a change of one while the program runs.
    """
    links = np.zeros((program.height, program.width, 5), dtype=np.int64)
    color_bits = {color.name: 1 << color.id for color in program.colors}
    for route in program.routes:
        links[route.area.places] |= color_bits[route.color] * _tx_ports(route)
    for number, code in enumerate(program.codes):
        for change in route_changes(code):
            links[program.placement == number] |= color_bits[change.color] * _tx_ports(
                change.alone()
            )
    return links


def _tx_ports(route: Route) -> npt.NDArray[np.int64]:
    """Return 1 for each of the five ports that a route sends to in one of its positions."""
    _, tx = all_directions(route)
    return np.array([tx >> port & 1 for port in range(5)], dtype=np.int64)


def _code(code: ElementCode, elements: int, profile: Profile) -> CodeResources:
    memory = tuple(_memory_map(code, profile.sram_free_bytes))
    depths = profile.input_queue_words, profile.output_queue_words
    return CodeResources(
        code.name,
        elements,
        memory,
        sum(part.end - part.start for part in memory if not part.buffer),
        tuple((q.id, q.color, depths[0][q.id]) for q in code.input_queues),
        tuple((q.id, q.color, depths[1][q.id]) for q in code.output_queues),
        tuple((task.name, _starts(task.queue, task.control, task.entry)) for task in code.tasks),
        register_needs(code),
        len(all_operations(code)),
    )


def _starts(queue: int | None, control: int | None, entry: bool) -> str:
    if queue is not None:
        return f"a wavelet of input queue {queue}"
    if control is not None:
        return f"a control wavelet of entry {control}"
    return "the start of the program" if entry else "an activation"


def _memory_map(code: ElementCode, size: int) -> Iterator[MemoryRange]:
    """Yield buffers and the free pieces between them."""
    end = 0
    arrays = [buffer for buffer in code.buffers if not buffer.view_of]
    for buffer in sorted(arrays, key=lambda b: (b.address, b.words, b.name)):
        start = 2 * buffer.address
        if start > end:
            yield MemoryRange(end, start, "")
        yield MemoryRange(start, start + 2 * buffer.words, buffer.name, buffer.dtype)
        end = max(end, start + 2 * buffer.words)
    if end < size:
        yield MemoryRange(end, size, "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _describe(code: CodeResources) -> Iterator[str]:
    sizes = _counted(code.elements, "element"), _counted(code.operations, "operation")
    yield f"code {code.name}: {', '.join(sizes)}"
    for part in code.memory:
        name = f"{part.buffer} {part.dtype}, bank {part.bank}" if part.buffer else "free"
        yield f"  {part.start:6d} - {part.end:6d}  {name}"
    for kind, queues in (("input", code.input_queues), ("output", code.output_queues)):
        for number, color, words in queues:
            yield f"  {kind} queue {number}: color {color}, {_counted(words, 'word')}"
    for name, start in code.tasks:
        yield f"  task {name}: started by {start}"
    needs = ", ".join(f"{need.kind} {need.total}" for need in code.registers if need.total)
    yield f"  registers: {needs or 'none'}"
