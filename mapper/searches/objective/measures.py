"""The metrics of a front: energy, latency, edp, and the bits used of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.arch.components.components import Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.names import did_you_mean
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.exact.label_fields import ONE_DESIGN, DesignFamily

COST_METRICS = ("energy", "latency", "edp")
USAGE = "usage"  # of every finite memory; "usage.NAME": of one
_PREFIX = f"{USAGE}."


@dataclass(frozen=True, slots=True)
class FrontMetrics:
    """The metrics that a Pareto front compares.

    `names`: energy (J), latency (s), edp (J s) and "usage.NAME" (bits of a memory). `memories`:
    those with a usage among them. A row of numbers is (energy, latency, bits of each of
    `memories`). `sizes`: for each of `memories` the sizes in bits that are in question, rising: two
    usages that the same of these sizes hold then count as equal. Empty: every bit counts.

    `family`: architectures that share the front. A row goes on with the energy at each of its
    prices.
    """

    names: tuple[str, ...]
    memories: tuple[str, ...]
    sizes: tuple[tuple[float, ...], ...] = ()
    family: DesignFamily = ONE_DESIGN

    @property
    def metric_columns(self) -> tuple[int, ...]:
        """The columns of a row (energy, latency, bits of each memory) that the metrics use.

        Ascending; edp uses both energy and latency.
        """
        columns = set(range(2, 2 + len(self.memories) + len(self.family.prices)))
        columns |= {0} if {"energy", "edp"} & set(self.names) else set()
        columns |= {1} if {"latency", "edp"} & set(self.names) else set()
        return tuple(sorted(columns))

    def row(self, score: Score) -> tuple[float, ...]:
        """Return (energy in J, latency in s, bits used of each memory) of a score.

        The bits are the most in use at one time, for each of `memories`; 0 where nothing is held.
        For a family the energies at further prices follow.
        """
        bits = (float(score.capacity.get(name, 0)) for name in self.memories)
        energies = (score.energy + _extra(score, more) for more in self.family.prices)
        return (score.energy, score.latency, *bits, *energies)

    def values(self, row: Sequence[float]) -> tuple[float, ...]:
        """Return the value of each metric, in the order of `names`, from a row.

        A row is (energy in J, latency in s, bits used of each of `memories`).
        """
        value_of = {"energy": row[0], "latency": row[1], "edp": row[0] * row[1]}
        value_of |= {
            f"{USAGE}.{name}": bits for name, bits in zip(self.memories, row[2:], strict=True)
        }
        return tuple(value_of[name] for name in self.names)


def _extra(score: Score, more: Mapping[tuple[str, str], float]) -> float:
    """Return the joules by which a score's actions cost more at other prices.

    `more`: extra joules per call, by (component, action).
    """
    calls = ((key.split("/"), count) for key, count in score.actions.items())
    return sum(more.get((key[1], key[-1]), 0.0) * float(count) for key, count in calls)


def front_metrics_of(names: Sequence[str], flats: Iterable[FlatArch]) -> FrontMetrics:
    """Return the metrics of these names, after a check against the memories of the hardware.

    "usage" stands for the usage of every finite memory. `flats`: paths of components. Raises
    TilewrightError, with close names, for a name that is no metric.
    """
    memories = [c for flat in flats for c in flat.components if isinstance(c, Memory)]
    chosen = _chosen(names, memories)
    usages = (name for name in chosen if name.startswith(_PREFIX))
    return FrontMetrics(tuple(chosen), tuple(name.removeprefix(_PREFIX) for name in usages))


def _chosen(names: Iterable[str], memories: Sequence[Memory]) -> dict[str, None]:
    """Return the names, each once; "usage" is replaced by the usages of all finite memories.

    TilewrightError for a name that is no metric.
    """
    finite = _usage_names(memory for memory in memories if memory.size < inf)
    usage_names = _usage_names(memories)
    chosen: dict[str, None] = {}
    for name in names:
        if name not in (*COST_METRICS, USAGE, *usage_names):
            raise _no_metric(name, usage_names)
        chosen |= dict.fromkeys(finite if name == USAGE else (name,))
    return chosen


def _usage_names(memories: Iterable[Memory]) -> list[str]:
    return [_PREFIX + memory.name for memory in memories]


def _no_metric(name: str, usage_names: Iterable[str]) -> TilewrightError:
    options = [*COST_METRICS, USAGE, *dict.fromkeys(usage_names)]
    return TilewrightError(
        "a front has no such metric",
        value=name,
        instead=did_you_mean(name, options) or f"any of: {', '.join(options)}",
    )
