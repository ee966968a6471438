"""Find the best mapping of a compatibility graph: label passes below a limit that is raised.

The labels of one graph are passed under rising limits, from the lower bound of the graph upwards.
The first pass that finds a mapping at or below its limit finds the best one (theory/fusion.md
§6.2).
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.fused_problem import ValueFunction
from tilewright.mapper.fusion.join.join_pmappings import NOISE, LabelPass, WholeLabel
from tilewright.mapper.searches.exact.kernels import Floats

# relative to the lower bound
DEEPENING = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, inf)


def least_label(labels: LabelPass, value: ValueFunction, highest: float = inf) -> WholeLabel | None:
    """Return the mapping of a graph with the least value; None if that is above `highest`.

    `labels`: passes partial mappings (labels) along the graph. `value`: function of energy in
    joule, latency in second and usages in bits; it never falls when one of them rises. Passes are
    repeated with rising limits of the value, from a lower bound upwards. Raises OutOfBudget.
    """
    energy, *others = labels.least_measures
    lower = float(value(energy, *others)) if energy < inf else inf
    for slack in DEEPENING if lower <= highest and lower < inf else ():
        limit = min(highest, lower * (1 + slack) * (1 + NOISE) if lower > 0 else inf)
        best = _least_within(labels, value, limit)
        if best is not None or limit >= highest:
            return best
        lower = max(lower, limit)
    return None


def _least_within(labels: LabelPass, value: ValueFunction, limit: float) -> WholeLabel | None:
    """Run one pass; return the best whole mapping not above the limit, None without any."""

    def exceeds_limit(*measures: Floats) -> NDArray[np.bool_]:
        return ~np.asarray(value(*measures) <= limit)

    measures = labels.run(exceeds_limit)
    if not len(measures):
        return None
    best = int(np.lexsort((*measures.T[::-1], value(*measures.T)))[0])
    return labels.label(best, measures[best])
