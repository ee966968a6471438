"""The text form of switches, filters, bindings, FIFOs, registers and scalar instructions."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.simulator.compile.code.encode_fabric_change import Change
from tilewright.simulator.isa.dsd import (
    NO_OFFSET,
    Circbuf,
    Dsd,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Immediate,
    Mem1d,
    Mem4d,
    Operand,
    Ref,
)
from tilewright.simulator.program.program import (
    BindQueue,
    BlockMicrothread,
    Compute,
    EndTeardown,
    Flush,
    LoadRegister,
    Map,
    OnControl,
    SetLength,
    Task,
    Value,
)
from tilewright.simulator.program.routes import Area, CounterFilter, RangeFilter, Route
from tilewright.simulator.text.tokens import print_index, print_name, print_number


def print_route(route: Route) -> str:
    """Return a route's ports, swap, switch and filter."""
    text = f"rx {''.join(route.rx)} tx {''.join(route.tx)}"
    text += f" swap {route.swap}" if route.swap else ""
    if route.switch is not None:
        for number, position in enumerate(route.switch.positions, 1):
            text += f" pos{number}"
            text += f" rx {''.join(position.rx)}" if position.rx else ""
            text += f" tx {''.join(position.tx)}" if position.tx else ""
        text += f" current {route.switch.current}"
        text += (" ring" if route.switch.ring else "") + f" {route.switch.pop}"
    if isinstance(route.filter, RangeFilter):
        text += f" range {route.filter.low} {route.filter.high}"
    elif route.filter is not None:
        text += _counter(route.filter)
    return text + (" teardown" if route.teardown else "")


def print_fabric(change: Change) -> str:
    """Return an instruction that changes a router, a queue or a microthread."""
    if isinstance(change, BlockMicrothread):
        return f"{'block' if change.blocks else 'unblock'}_ut {change.microthread}"
    if isinstance(change, Flush):
        return f"flush_{'output' if change.output else 'input'} {change.queue}"
    if isinstance(change, BindQueue):
        kind = "output" if change.output else "input"
        return f"bind_{kind} {change.queue} {print_name(change.color)}"
    if isinstance(change, EndTeardown):
        place = "" if change.position is None else f" position {change.position}"
        return f"end_teardown {print_name(change.color)}{place}"
    route = change.route(Route(change.color, Area(0, 0), change.rx, change.tx))
    return f"reconfigure {print_name(change.color)} {print_route(route)}"


def _counter(chosen: CounterFilter) -> str:
    text = f" counter {chosen.limit} most {chosen.most} start {chosen.start}"
    if chosen.other_limit is not None:
        text += f" other_limit {chosen.other_limit}"
    flags = ("count_data", "count_control", "filter_control", "sparse")
    return text + "".join(f" {name}" for name in flags if getattr(chosen, name))


def print_binding(task: Task) -> str:
    """Return what starts a data or control task, empty for a local one."""
    text = f" queue {task.queue}" if task.queue is not None else ""
    text += f" control {task.control}" if task.control is not None else ""
    text += f" teardown {print_name(task.teardown)}" if task.teardown is not None else ""
    text += f" empty_input {task.empty_input}" if task.empty_input is not None else ""
    text += f" empty_output {task.empty_output}" if task.empty_output is not None else ""
    return text + "".join(f" {print_name(name)}:{dtype}" for name, dtype in task.arguments)


def print_properties(dsd: Mem1d | Mem4d | Fabin | Fabout) -> str:
    """Return the properties of a descriptor that are set."""
    names = ("control", "advance_switch", "wavelet_index_offset", "control_transform")
    text = "".join(f" {name}" for name in names if getattr(dsd, name, False))
    text += f" zero {dsd.zero}" if isinstance(dsd, Fabout) and dsd.zero else ""
    return text + _priority(dsd)


def print_changes(operand: Ref) -> str:
    """Return what an operand changes of its descriptor, ` {of v length n}`; empty for nothing."""
    parts = [f"of {print_name(operand.base)}"] if operand.base is not None else []
    for word, index in (("length", operand.length), ("stride", operand.stride)):
        if index is not None:
            parts.append(f"{word} {print_index(index)}")
    return " {" + " ".join(parts) + "}" if parts else ""


def _priority(dsd: Dsd) -> str:
    given = ((name, getattr(dsd, name, "")) for name in ("priority", "simd"))
    return "".join(f" {name} {print_name(value)}" for name, value in given if value)


def print_ring(dsd: Circbuf | Fifo) -> str:
    """Return a circular buffer or a FIFO."""
    names = f"{print_name(dsd.name)} {print_name(dsd.buffer)}"
    if isinstance(dsd, Circbuf):
        end = "" if dsd.wraparound is None else f" wraparound {dsd.wraparound}"
        return f"circbuf {names} extent {dsd.extent}{end}"
    text = f"fifo {names} empty {dsd.empty_action} full {dsd.full_action}"
    text += f" activate_pop {print_name(dsd.activate_pop)}" if dsd.activate_pop else ""
    text += f" activate_push {print_name(dsd.activate_push)}" if dsd.activate_push else ""
    text += _priority(dsd)
    held = (("dest", dsd.dest), ("src", dsd.src), ("xdsr", dsd.xdsr))
    return text + "".join(f" {name} {number}" for name, number in held if number is not None)


def print_on_control(chosen: OnControl) -> str:
    """Return what a control wavelet does to an operation."""
    return f" on_control {chosen.action}" + (f" {print_name(chosen.task)}" if chosen.task else "")


def print_value(value: Value) -> str:
    """Return a scalar: a counter, an element, a number."""
    if isinstance(value, Immediate):
        return f"#{print_number(value.value)}"
    if isinstance(value, Element):
        return f"{print_name(value.buffer)}({print_index(value.index)})"
    return print_name(value)


def print_scalar(instruction: Compute | SetLength) -> str:
    """Return a scalar instruction or the setting of a FIFO's length."""
    if isinstance(instruction, SetLength):
        way = "read" if instruction.reads else "write"
        return f"{way}_length {print_name(instruction.fifo)} {instruction.length}"
    sources = ", ".join(print_value(source) for source in instruction.sources)
    dest = print_value(instruction.dest)
    return f"{dest} = {instruction.operation}.{instruction.dtype} {sources}"


def print_map(instruction: Map, show: Callable[[Operand], str]) -> str:
    """Return the head of a map; the body follows."""
    pairs = (f"{print_name(name)} from {show(operand)}" for name, operand in instruction.inputs)
    text = "map " + ", ".join(pairs)
    if instruction.output is None:
        return text.rstrip()
    name, operand = instruction.output
    return f"{text.rstrip()} to {show(operand)} as {print_name(name)}"


def print_load(load: LoadRegister) -> str:
    """Return the loading of a register."""
    offset = "" if load.offset == NO_OFFSET else f"[{print_index(load.offset)}]"
    text = f"load %{load.register} {print_name(load.dsd)}{offset}"
    text += "" if load.xdsr is None else f" xdsr {load.xdsr}"
    text += "".join(f" sr {number}" for number in load.strides)
    text += " async" if load.asynchronous else ""
    text += f" activate {print_name(load.activate)}" if load.activate else ""
    text += f" unblock {print_name(load.unblock)}" if load.unblock else ""
    text += "" if load.on_control is None else print_on_control(load.on_control)
    text += "" if load.microthread is None else f" ut {load.microthread}"
    text += " save_address" if load.save_address else ""
    return text + (" single_step" if load.single_step else "")
