"""Pass all partial mappings with uneven tiles that a target may be interested in.

The sweeps of searches/uneven, template by template: a partial mapping stays as long as the least
energy, the least latency and the bits that it can still come to allow something of
interest.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY, Floats
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.objective.targets import SweepTarget, TracedMapping
from tilewright.mapper.searches.program.program_steps import TemplateProgram
from tilewright.mapper.searches.uneven.uneven_search import BEAM, UnevenRun

TIE = 1e-12


class UnevenSweep:
    """Go through all mappings of a mapspace with uneven tiles for a target.

    An uneven tile does not divide its bound: the last one is smaller. A target is a front, or the
    least value of a formula. `space`: the mapspace. `memories`: names of those whose bits in use
    count. `budget`: limits. Raises UnsupportedFeature for what the search does not model,
    OutOfBudget.
    """

    def __init__(self, space: Mapspace, memories: tuple[str, ...], budget: Budget) -> None:
        refuse_unsupported(space.problem, networks=space.problem.conventions.links_carry_all_rounds)
        self._run = UnevenRun(space, Goal("energy"), budget, memories)
        self._space, self._memories = space, len(memories)
        self._run.rank()
        self._begun = False

    @property
    def labels(self) -> int:
        """Number of partial mappings made so far."""
        return self._run.ranking.labels

    @property
    def templates(self) -> int:
        """Number of templates (mappings without their loops) gone through."""
        return self._space.templates_made

    @property
    def states(self) -> int:
        """Number of classes of tile shapes looked at."""
        return self._run.ranking.states

    @property
    def lower_bound(self) -> tuple[float, ...]:
        """Lower bounds (joule, second, bits of each counted memory) of every mapping.

        Of one instance of the Einsum; inf for energy and latency if there is no mapping. Bits are
        0.
        """
        rows = [self._start(energy, number) for _, energy, number in self._run.ranking.ranked]
        nothing_fits = (inf, inf, *(0.0,) * self._memories)
        return tuple(np.min(rows, axis=0).tolist()) if rows else nothing_fits

    def _start(self, energy: float, number: int) -> Floats:
        steps = self._run.ranking.plan(number).fewest_steps
        unused = np.zeros((1, self._memories))
        row: Floats = self._lower_bounds(np.array([energy]), np.array([steps]), unused)[0]
        return row

    def run(self, target: SweepTarget, most_energy: float = inf) -> None:
        """Go through the mapspace, and offer the target every mapping that it wants.

        `target`: says what is of interest, and takes mappings. `most_energy`: joule of one
        instance; mappings above it are not looked for. The first run makes a pass with few partial
        mappings per step first, so that there is something to compare with. Raises OutOfBudget; the
        target keeps what was offered.
        """
        for beam in (0,) if self._begun else (BEAM, 0):
            for _, energy, number in self._run.ranking.ranked:
                first = self._start(energy, number)
                if target.hopeful(first[np.newaxis])[0] and first[0] <= most_energy * (1 + TIE):
                    self._template(number, target, most_energy, beam)
            self._begun = True

    def _template(self, number: int, target: SweepTarget, most_energy: float, beam: int) -> None:
        def keep(energy: Floats, steps: Floats, used: Floats) -> NDArray[np.bool_]:
            bounds = self._lower_bounds(energy, steps, used)
            return target.hopeful(bounds) & (bounds[:, 0] <= most_energy * (1 + TIE))

        completed = self._run.completed_mappings(number, keep, beam)
        if not completed.metrics:
            return
        program = TemplateProgram(completed.plan.template, completed.plan.slots, (), ())
        numbers = target.wanted(np.array(completed.metrics))
        target.offer(
            [TracedMapping(completed.metrics[i], program, completed.tiles(i)) for i in numbers]
        )

    def _lower_bounds(self, energy: Floats, steps: Floats, used: Floats) -> Floats:
        lower_bound = self._run.ranking.lower_bound
        bounds = [lower_bound(energy, steps, kind) for kind in (ENERGY, LATENCY)]
        return np.column_stack([*bounds, used])
