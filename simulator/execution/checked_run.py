"""A run of a program on a grid of elements, compared with numpy and with the model, and priced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tilewright.simulator.compile.assumed_figures import assumed_figures
from tilewright.simulator.execution.action_counts import total_hops
from tilewright.simulator.execution.drawn_operands import AnyArray, WrongResult
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.trace import Trace


@dataclass(frozen=True, kw_only=True, repr=False)
class CheckedRun(ABC):
    """What the run of a program gave, on the machine of `profile`.

    `operands`: the tensors that it read. `memory`: (rows, columns, 1, values) what the elements
    hold at the end, by tensor. `cycles`, `latency` (s): of all instances of the
    Einsum, one after the other. `counts`: their numbers of actions by
    `name/component/tensor/action`; `predicted`: the same without an execution. `energy_by`: joules
    by such keys, and `name/component/leak`. `error_share`: greatest error of a result as a share (0
    to 1) of its rounding bound. `find_trace`: gives the trace of one instance.
    """

    profile: Profile
    operands: Mapping[str, AnyArray]
    memory: Mapping[str, AnyArray]
    cycles: int
    latency: float
    counts: Mapping[str, int]
    predicted: Mapping[str, int]
    energy_by: Mapping[str, float]
    error_share: float
    find_trace: Callable[[], Trace]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.cycles:,} cycles>"

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of what ran."""

    @abstractmethod
    def program(self) -> Program:
        """Return the program that ran."""

    @cached_property
    def assumed(self) -> tuple[str, ...]:
        """The figures of the machine that the result rests on and nobody has published."""
        return assumed_figures(self.program(), self.profile)

    @cached_property
    def trace(self) -> Trace:
        """What a run records of elements and links.

        A run for values alone records nothing; then the engines run once more, at the first use.
        """
        return self.find_trace()

    @property
    def energy(self) -> float:
        """Energy in J, with leakage."""
        return float(sum(self.energy_by.values()))

    @property
    def hops(self) -> int:
        """Number of wavelets times the links that each one crosses."""
        return total_hops(self.counts)


def check_counts(counts: Mapping[str, int], predicted: Mapping[str, int]) -> None:
    """Raise WrongResult if a run's counts of actions are not the predicted ones."""
    if counts != predicted:
        wrong = min(set(counts.items()) ^ set(predicted.items()))[0]
        raise WrongResult(
            f"the run counts {counts.get(wrong, 0)} of {wrong}, the model "
            f"{predicted.get(wrong, 0)}: please report this"
        )
