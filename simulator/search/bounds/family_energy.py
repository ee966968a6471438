"""A lower bound, in closed form, of the energy of all mappings of a family, without leakage.

It counts what the words, values and points of the family cost at least (theory/grid.md §6): sums
that pass through a memory on their way are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reductions import Axis, line_chains
from tilewright.mapper.grid.rings.ring_links import ring_hops
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen, least
from tilewright.simulator.search.bounds.family_tiles import FamilyTiles


class BorderWords(NamedTuple):
    """Numbers of words of an input that comes over the border.

    `entered`: values that enter; `written`: values that elements write into their memories; `hops`:
    words times links on their way.
    """

    entered: Numbers
    written: Numbers
    hops: Numbers


@dataclass(frozen=True)
class FamilyEnergy:
    """Lower bounds of the energy (J) of a mapspace's families, leakage left out.

    `space`: the mapspace; `flat`: path of components to the compute.
    """

    space: GridMapspace
    flat: FlatArch

    def of(
        self, tiles: FamilyTiles, reduction: str | None, entered: Mapping[str, BorderWords]
    ) -> Numbers:
        """Return the least energy (J) of the mappings of a family, or of each of many.

        `tiles`: sizes that the family gives to one element. `reduction`: scheme of the mappings;
        None for any. `entered`: words of the inputs that come over the border.
        """
        columns, rows = tiles.elements
        points = columns * rows * prod(tiles.local.values())
        output = columns * rows * tiles.output * tiles.turns(self._output)
        results = output // prod(tiles.groups)
        hops = sum(words.hops for words in entered.values()) + self._sum_hops(tiles, reduction)
        return (
            (points + output - results) * self._point
            + hops * self._hop
            + sum(self._reads(access, tiles, points) for access in self.space.einsum.inputs)
            + sum(self._entry(tensor, words) for tensor, words in entered.items())
            + sum(self._shift(tiles, *shift) for shift in tiles.family.shifts)
            + self._output_energy(points, output, results)
        )

    def _reads(self, access: TensorAccess, tiles: FamilyTiles, points: Numbers) -> Numbers:
        """Return the energy (J) of an input's reads: one per point, or per value of the scalar."""
        number = points
        if access.tensor == tiles.family.scalar:
            steps = prod(tiles.local[name] for name in access.rank_variables)
            number = prod(tiles.elements) * least(steps, access.tile_size(tiles.local))
        return number * self._price(self.space.grid.memory.name, access.tensor, "read")

    def _entry(self, tensor: str, words: BorderWords) -> Numbers:
        """Return the energy (J) of an input's way from the memory outside into the elements."""
        read = words.entered * self._price(self.space.grid.host.name, tensor, "read")
        return read + words.written * self._price(self.space.grid.memory.name, tensor, "write")

    def _shift(self, tiles: FamilyTiles, tensor: str, axis: Axis) -> Numbers:
        """Return the energy (J) of the tiles of a tensor that go round rings along an axis.

        In each turn but the last every element reads and writes a tile, whose words cross the links
        of the ring.
        """
        names = [access.tensor for access in self.space.einsum.inputs]
        turns, number = tiles.steps - 1, names.index(tensor)
        values, words = tiles.inputs[number], tiles.input_words[number]
        ring, lines = tiles.elements if axis == "X" else tiles.elements[::-1]
        memory = self.space.grid.memory.name
        each = sum(self._price(memory, tensor, action) for action in ("read", "write"))
        return turns * lines * (values * ring * each + words * ring_hops(ring) * self._hop)

    def _output_energy(self, points: Numbers, output: Numbers, results: Numbers) -> Numbers:
        """Return the energy (J) of the output: a write per point, a read per point but the first.

        `output`: number of its values in all elements, sums of groups not yet added; `results`:
        number of values after the addition.
        """
        grid, tensor, stays = self.space.grid, self._output.tensor, self.space.output_stays
        sent = output - results if stays else output
        read, write = (self._price(grid.memory.name, tensor, way) for way in ("read", "write"))
        energy = points * write + (points - output + sent) * read
        if self.space.narrows:  # finished sums are stored, then made f16
            energy = energy + chosen(results < output, results * (read + write), 0.0)
        if stays:
            return energy
        return energy + results * self._price(grid.host.name, tensor, "write")

    def _sum_hops(self, tiles: FamilyTiles, reduction: str | None) -> Numbers:
        """Return a lower bound of the words times links of sums and results on their way.

        reduction: scheme of the mappings; None for any.
        """
        columns, rows = tiles.elements
        across, down = tiles.groups
        groups = (columns // across) * (rows // down)
        links = groups * self._group_hops(across, down, reduction)
        if tiles.family.shared:
            links = links + (across * down - 1) * groups
        if not self.space.output_stays:
            heads = rows // down
            gathered = (columns // across) * down * (heads * (heads - 1) // 2)
            links = links + chosen((across < columns) & (down < rows), gathered, 0)
        return links * tiles.output_words * tiles.turns(self._output)

    @staticmethod
    def _group_hops(across: Numbers, down: Numbers, reduction: str | None) -> Numbers:
        """Return the links that are crossed, per value, until a group of elements is added up.

        `across`, `down`: elements of the group along X and along Y. `reduction`: None for the
        fewest of all schemes.
        """
        scheme = None if reduction is None else reduction_scheme(reduction)
        if scheme is None or scheme.order == "snake":
            return across * down - 1
        hops = (
            sum(chain.hops for chains in line_chains(group, scheme.line) for chain in chains)
            for group in (across, down)
        )
        along_x, along_y = hops
        if scheme.order == "y_first":
            return across * along_y + along_x
        return down * along_x + along_y

    @cached_property
    def _output(self) -> TensorAccess:
        return self.space.einsum.outputs[0]

    @cached_property
    def _point(self) -> float:
        return self.space.grid.compute.action("compute").energy

    @cached_property
    def _hop(self) -> float:
        fabric = self.space.grid.fabric
        return fabric.action("hop").energy if fabric is not None else 0.0

    def _price(self, component: str, tensor: str, action: str) -> float:
        """Return the energy (J) of an action on one value."""
        key = component, tensor, action
        if key not in self._prices:
            priced = self.flat.component(component).action(action)
            self._prices[key] = priced.energy / float(priced.values_per_action[tensor])
        return self._prices[key]

    @cached_property
    def _prices(self) -> dict[tuple[str, str, str], float]:
        return {}
