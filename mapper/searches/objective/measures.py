"""The metrics of a front: energy, latency, edp, and the bits used of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.arch.components.components import Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.names import did_you_mean
from tilewright.mapper.mapping.score import Score

COST_METRICS = ("energy", "latency", "edp")
USAGE = "usage"  # of every finite memory; "usage.NAME": of one


@dataclass(frozen=True, slots=True)
class FrontMetrics:
    """What a front is over. Rows are (energy, latency, bits used of each of `memories`).

    `names`: the metrics, with one "usage.NAME" per memory in the place of "usage".
    """

    names: tuple[str, ...]
    memories: tuple[str, ...]

    @property
    def metric_columns(self) -> tuple[int, ...]:
        """The columns of a row that the metrics depend on."""
        columns = set(range(2, 2 + len(self.memories)))
        columns |= {0} if {"energy", "edp"} & set(self.names) else set()
        columns |= {1} if {"latency", "edp"} & set(self.names) else set()
        return tuple(sorted(columns))

    def row(self, score: Score) -> tuple[float, ...]:
        """Return the row of a score."""
        bits = (float(score.capacity.get(name, 0)) for name in self.memories)
        return (score.energy, score.latency, *bits)

    def values(self, row: Sequence[float]) -> tuple[float, ...]:
        """Return the value of each metric."""
        value_of = {"energy": row[0], "latency": row[1], "edp": row[0] * row[1]}
        value_of |= {
            f"{USAGE}.{name}": bits for name, bits in zip(self.memories, row[2:], strict=True)
        }
        return tuple(value_of[name] for name in self.names)


def front_metrics_of(names: Sequence[str], flats: Iterable[FlatArch]) -> FrontMetrics:
    """Check the names of metrics; TilewrightError for one that does not exist."""
    memories = [c for flat in flats for c in flat.components if isinstance(c, Memory)]
    finite = dict.fromkeys(m.name for m in memories if m.size < inf)
    usage_names = [f"{USAGE}.{m.name}" for m in memories]
    chosen: dict[str, None] = {}
    for name in names:
        if name == USAGE:
            chosen |= dict.fromkeys(f"{USAGE}.{memory}" for memory in finite)
        elif name in COST_METRICS or name in usage_names:
            chosen[name] = None
        else:
            options = [*COST_METRICS, USAGE, *dict.fromkeys(usage_names)]
            raise TilewrightError(
                "a front has no such metric",
                value=name,
                instead=did_you_mean(name, options) or f"any of: {', '.join(options)}",
            )
    prefix = f"{USAGE}."
    return FrontMetrics(
        tuple(chosen), tuple(n.removeprefix(prefix) for n in chosen if n.startswith(prefix))
    )
