"""What a run counted, and its energy, under the keys of the analytical model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.einsum import Einsum
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.lowering.elementary import COMPUTE
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.run.trace import Counts


class PricedPath(Protocol):
    """What the prices of an Einsum's actions on a grid are read from."""

    @property
    def flat(self) -> FlatArch:
        """Path of components to the compute of the grid."""
        ...

    @property
    def grid(self) -> Grid:
        """The grid of that path."""
        ...

    @property
    def einsum(self) -> Einsum:
        """The Einsum that runs there."""
        ...


def count_actions(plan: Plan, counters: Counts) -> dict[str, int]:
    """Return the counts of actions under the keys of `predict`, without the zeros.

    `counters`: of the run of one instance; the result is for all instances of the Einsum.

    A key is `einsum/component/tensor/action`: read and write are values of the elements' memory and
    of the host beyond the border, hop is wavelets times links, compute is points of the iteration
    space, add is additions of partial sums over elements. Raises WrongResult if the words that
    entered are not those offered.
    """
    read, grid = plan.read, plan.read.grid
    name, memory = read.einsum.name, grid.memory.name
    counts: dict[str, int] = {}
    for tensor, number in counters.memory_reads.items():
        counts[f"{name}/{memory}/{tensor}/read"] = number
    for tensor, number in counters.memory_writes.items():
        counts[f"{name}/{memory}/{tensor}/write"] = number
    for tensor, number in _border_values(plan, counters).items():
        action = "write" if tensor == read.output.name else "read"
        counts[f"{name}/{grid.host.name}/{tensor}/{action}"] = number
    fabric = grid.fabric.name if grid.fabric is not None else "fabric"
    counts[f"{name}/{fabric}/None/hop"] = counters.wavelet_hops
    counts[f"{name}/{grid.compute.name}/None/compute"] = counters.labelled.get(COMPUTE, 0)
    added = counters.labelled.get(f"add {read.output.name}", 0)
    counts[f"{name}/{grid.compute.name}/None/add"] = added
    instances = read.einsum.n_instances
    return {key: number * instances for key, number in sorted(counts.items()) if number}


def _border_values(plan: Plan, counters: Counts) -> dict[str, int]:
    """Values over the border by tensor; the machine's own counter must agree with the streams.

    Raises WrongResult if it does not.
    """
    words = sum(stream.number * stream.words for stream in plan.streams)
    if words != counters.edge_in_words:
        raise WrongResult(
            f"{counters.edge_in_words} words entered the grid, {words} were offered: please report "
            "this"
        )
    values = {stream.tensor.name: stream.entering_values for stream in plan.streams}
    if counters.edge_out_words:
        output = plan.read.output
        values[output.name] = counters.edge_out_words * plan.read.values_per_wavelet(output)
    return values


def action_energies(read: PricedPath, counts: Mapping[str, int]) -> dict[str, float]:
    """Return the energy (J) of counted actions, by the keys of the counts.

    A read or write of a value costs the component's action energy divided by its values per action;
    an addition of an element costs a compute action; a hop carries one wavelet over one link, and
    costs nothing if the architecture has no fabric.
    """
    energy = {}
    for key, number in counts.items():
        _, component, tensor, action = key.split("/")
        if action == "hop":
            fabric = read.grid.fabric
            unit_energy = fabric.action("hop").energy if fabric is not None else 0.0
        elif tensor == "None":
            unit_energy = read.grid.compute.action("compute").energy
        else:
            priced = read.flat.component(component).action(action)
            unit_energy = priced.energy / float(priced.values_per_action[tensor])
        energy[key] = number * unit_energy
    return energy


def total_hops(counts: Mapping[str, int]) -> int:
    """Return the sum of all hops (wavelets times links) among numbers of actions.

    counts: by `einsum/component/tensor/action`.
    """
    return sum(number for key, number in counts.items() if key.endswith("/hop"))


def predicted_energy(read: SpaceTime) -> float:
    """Return the energy (J) of a mapping's actions, as predicted without an execution.

    Leakage is left out.
    """
    return sum(action_energies(read, predict(read)).values())


def run_energies(read: PricedPath, counts: Mapping[str, int], latency: float) -> dict[str, float]:
    """Return the energies (J) of a run by key: its actions, then what leaks in `latency` seconds.

    counts: numbers of actions by `einsum/component/tensor/action`; leakage has
    `einsum/component/leak`.
    """
    return {**action_energies(read, counts), **leak_energies(read, latency)}


def leak_energies(read: PricedPath, latency: float, name: str | None = None) -> dict[str, float]:
    """Return the leakage energy (J) of every component that leaks, by `name/component/leak`.

    It is leak power (W) * number of instances * latency (s). All instances leak, used or not; their
    number is the component's own fanout times the fanouts of those above it. name: of what ran,
    None for the Einsum.
    """
    components = (*read.flat.components, *read.flat.beside)
    return {
        f"{name or read.einsum.name}/{component.name}/leak": component.leak_power
        * component.parent_fanout
        * component.own_fanout
        * latency
        for component in components
        if component.leak_power
    }
