"""Executions on a grid that need no search: of designs whose mappings and cycles are the same.

A search for the least latency does not read energies, leakage and areas. So designs that differ in
these alone, in any process and any run, have the same mappings, cycles and counts; their energy
follows from the counts. The key is a hash over all that decides them, the code included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.workload.errors import InfeasibleMapping

if TYPE_CHECKING:
    from tilewright.arch.flattening.flat import FlatArch
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.grid.grid import Grid
    from tilewright.mapper.workload.einsum import Einsum
    from tilewright.mapper.workload.workload import Workload
    from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution
    from tilewright.simulator.execution.einsum_execution import EinsumExecution
    from tilewright.simulator.execution.execution import Execution
    from tilewright.simulator.profiles.profile import Profile
    from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest


@dataclass(frozen=True, slots=True)
class KnownRun:
    """One program of an execution: that of an Einsum, or of an exchange before it.

    `name`: of the Einsum, or of the exchange; `einsum`: whose it is. `cycles`, `hops`, `counts`: of
    the run; `sram_bits`, `utilization`, `cycles_by` (mean cycles of an element by state): of an
    Einsum's. `latency` (s) and `energy_by` (J by key of the counts) follow from these.
    """

    name: str
    einsum: str
    cycles: int
    hops: int
    counts: Mapping[str, int]
    sram_bits: int = 0
    utilization: float = 0.0
    cycles_by: Mapping[str, float] | None = None
    latency: float = 0.0
    energy_by: Mapping[str, float] | None = None

    @property
    def energy(self) -> float:
        """Energy in J, with leakage."""
        return float(sum((self.energy_by or {}).values()))


@dataclass(frozen=True, slots=True)
class KnownExecution:
    """What is known of the best mapping of a design: its programs, and what the search has shown.

    `runs`: the Einsums' programs, then the exchanges'; `elements`: of the grid. `is_optimal`, `gap`
    (None: unknown): of the latency; `certificate`: in words. `mapping`: of the workload,
    as the text of a file. `infeasible`: why there is no mapping, None if there is one.
    """

    runs: tuple[KnownRun, ...] = ()
    elements: int = 0
    is_optimal: bool = False
    gap: float | None = None
    certificate: str = ""
    mapping: str = ""
    infeasible: str | None = None


def known_execution(
    mapped: GridMapping, cycles_by: Sequence[Mapping[str, float]] | None = None
) -> KnownExecution:
    """Return what is worth knowing of an answer of a search.

    cycles_by: mean cycles of an element by state, for each Einsum; left out if None.
    """
    from tilewright.mapper.mapping.mapping_file import dump_mapping

    execution, grid = mapped.execution, mapped.execution.einsums[0].plan.read.grid
    assert not execution.pipelines, "a search makes none; KnownRun has no place for them"
    states = cycles_by or [{} for _ in execution.einsums]
    runs = [_known_run(run, by) for run, by in zip(execution.einsums, states, strict=True)]
    gap = mapped.gap if mapped.gap < float("inf") else None
    return KnownExecution(
        (*runs, *map(_known_run, execution.exchanges)),
        grid.columns * grid.rows,
        mapped.certificate.is_optimal,
        gap,
        str(mapped.certificate),
        dump_mapping(mapped.mapping),
    )


def _known_run(
    run: EinsumExecution | ExchangeExecution, cycles_by: Mapping[str, float] | None = None
) -> KnownRun:
    """Return what is worth knowing of a run: its attributes that have the names of the fields."""
    names = [field.name for field in fields(KnownRun) if hasattr(run, field.name)]
    attributes: dict[str, Any] = {name: getattr(run, name) for name in names}
    return KnownRun(**{"einsum": run.name, **attributes, "cycles_by": cycles_by})


class _GridPath(NamedTuple):
    flat: FlatArch
    grid: Grid
    einsum: Einsum


class ExecutionQuestion:
    """What a design asks of the machine, and its answer if it is known.

    `arch`, `workload`, `request`: as of `map_on_grid`, whose objective is latency; answers are kept
    in the store of its settings. Raises InfeasibleMapping if the architecture has no grid.
    """

    def __init__(self, arch: Arch, workload: Workload, request: GridRequest) -> None:
        from tilewright.mapper.grid.grid import grid_of
        from tilewright.simulator.execution.mapped_workload import grid_path

        assert request.objective == "latency", request.objective
        self._request, self._store = request, request.settings.known
        self._arch, self._workload = arch, workload
        paths = {einsum.name: grid_path(arch, workload, einsum) for einsum in workload.einsums}
        self._paths = {e.name: _GridPath(paths[e.name], grid_of(paths[e.name]), e)
                       for e in workload.einsums}  # fmt: skip

    @cached_property
    def key(self) -> str | None:
        """A hash over all that decides mappings, cycles and counts; None if nothing is kept."""
        from tilewright.simulator.known.code_hash import code_hash
        from tilewright.simulator.known.content_key import NoKeyError, content_key
        from tilewright.simulator.known.machine_part import machine_part

        if self._store.folder is None:
            return None
        request = self._request
        paths = [machine_part(path.flat) for path in self._paths.values()]
        settings = (request.settings.seed, request.constraints, request.most_executions)
        try:
            return content_key(
                code_hash(), paths, self._workload.einsums, self._profile, *settings
            )  # fmt: skip
        except NoKeyError:
            return None

    @property
    def _profile(self) -> Profile:
        grid = next(iter(self._paths.values())).grid
        return self._request.settings.profile(grid)

    def find(self) -> KnownExecution | None:
        """Return the answer, with the energies of this design; None if it is not known."""
        if self.key is None:
            return None
        record = self._store.get(self.key)
        try:
            execution = KnownExecution(**record)
            runs = tuple(self._priced(KnownRun(**run)) for run in execution.runs)  # type: ignore[arg-type]
        except (TypeError, KeyError, ValueError, AttributeError):  # None, or written by another
            return None
        if not runs and execution.infeasible is None:
            return None
        return replace(execution, runs=runs)

    def execute(self, execution: KnownExecution) -> Execution:
        """Execute the mapping of a known answer on data; raises what `execute` raises."""
        from tilewright.mapper.mapping.mapping_file import load_mapping
        from tilewright.simulator.execution.execution import execute

        mapping = load_mapping(execution.mapping)
        return execute(self._arch, self._workload, mapping, settings=self._request.settings)

    def keep(self, answer: KnownExecution) -> None:
        """Keep an answer for other designs, without its energies.

        Not one of a search that was asked to stop: it would have found more.
        """
        from tilewright.mapper.searches.budget import STOP_REQUESTED

        if self.key is not None and not STOP_REQUESTED.is_set():
            runs = [replace(run, latency=0.0, energy_by=None) for run in answer.runs]
            self._store.put(self.key, asdict(replace(answer, runs=tuple(runs))))

    def keep_error(self, error: TilewrightError) -> None:
        """Keep that there is no mapping, and why."""
        if isinstance(error, InfeasibleMapping) and error.where is None:
            self.keep(KnownExecution(infeasible=str(error)))

    def bounds(self, make: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Return the lower bounds of the design's metrics, made if they are not known."""
        from tilewright.simulator.known.content_key import content_key
        from tilewright.simulator.known.machine_part import prices

        if self.key is None:
            return make()
        paths = [prices(path.flat) for path in self._paths.values()]
        key = content_key("bounds", self.key, paths)
        stored: Any = self._store.get(key)
        if isinstance(stored, dict) and all(isinstance(value, float) for value in stored.values()):
            return stored
        bounds = make()
        self._store.put(key, bounds)
        return bounds

    def _priced(self, run: KnownRun) -> KnownRun:
        """Return a program's run with its latency and its energies on this design."""
        from tilewright.simulator.execution.action_counts import action_energies, leak_energies

        path, latency = self._paths[run.einsum], run.cycles / self._profile.clock_hz
        leaks = leak_energies(path, latency)
        named = {f"{run.name}/{key.split('/', 1)[1]}": energy for key, energy in leaks.items()}
        energy_by = {**action_energies(path, run.counts), **named}
        return replace(run, latency=latency, energy_by=energy_by)
