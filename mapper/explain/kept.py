"""Explain why a tensor is not kept in a memory: what keeping it costs, or which rules forbid it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.arch.names import did_you_mean
from tilewright.arch.quantities import UNITS, quantity
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import HolderSpec, TensorsSpec
from tilewright.arch.spec.tree import Node
from tilewright.mapper.explain.constraint import MappingConstraint, set_text
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.mapping.mapping import ComputeNode, Sequential, Storage
from tilewright.mapper.mapping.mapping import Node as Step
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.budget import Budget, budget_from
from tilewright.mapper.searches.request import SearchOptions
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload

FREE_SHARE = 0.5  # of the budget, for the search of the best mapping


@dataclass(frozen=True, slots=True)
class NotKept:
    """Answer why the best mapping does not keep a tensor in a memory.

    `tensor`, `memory`, `objective`: what was asked. `free`: search for the best mapping. `forced`:
    search for the best one that keeps the tensor there, without the rules that forbid it; None:
    there is none. `kept`: the free mapping keeps it already. `forbidden`: constraints of the file
    that forbid it. `conflict`: why no mapping can keep it. `kept_for`, `left_out`: Einsums that use
    the tensor and for which the free mapping keeps it there, or does not. str() gives the answer as
    text.
    """

    tensor: str
    memory: str
    objective: str
    free: SearchResult
    forced: SearchResult | None
    kept: bool
    forbidden: tuple[MappingConstraint, ...] = ()
    conflict: InfeasibleMapping | None = None
    kept_for: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """Relative increase of the objective if the tensor is kept there; None: it cannot be.

        0.05 stands for 5 % more. 0 if the objective of the best mapping is 0.
        """
        if self.forced is None:
            return None
        free = self.free.certificate.value
        return self.forced.certificate.value / free - 1 if free else 0.0

    def __str__(self) -> str:
        place = f"{self.tensor} in {self.memory}"
        if self.kept:
            return f"the best mapping keeps {place}"
        begin = []
        if self.kept_for:
            kept, not_kept = ", ".join(self.kept_for), ", ".join(self.left_out)
            begin = [f"the best mapping keeps {place} for {kept}, not for {not_kept}"]
        lines = [f"{c.text} ({c.where or c.path})" for c in self.forbidden]
        if self.forced is None:
            return "\n".join([*begin, *lines, f"no mapping can keep {place}: {self.conflict}"])
        free, forced = self.free.best.score, self.forced.best.score
        if self.forbidden:
            lines = [f"a rule forbids {place}: {'; '.join(lines)}", "without it:"]
        lines.append(
            f"keeping {place} changes {self.objective} from"
            f" {_shown(self.free.certificate.value, self.objective)} to"
            f" {_shown(self.forced.certificate.value, self.objective)}"
            f" ({100 * (self.cost or 0.0):+.3g} %)"
        )
        lines.append(
            f"energy {_shown(free.energy, 'energy')} -> {_shown(forced.energy, 'energy')},"
            f" latency {_shown(free.latency, 'latency')} -> {_shown(forced.latency, 'latency')}"
        )
        ends = {self.free.certificate.kind, self.forced.certificate.kind}
        if ends != {"optimal"}:
            lines.append("not proven optimal: both are the best mappings found")
        return "\n".join([*begin, *lines])

    def to_dict(self) -> dict[str, object]:
        """Return the answer as a dictionary that can be written as JSON.

        It has the question, whether the best mapping keeps the tensor (`kept_for`: for which
        Einsums, if only for some), the values of the objective without and with keeping it, the
        relative `cost`, the rules that forbid it, and the text. A value that does not exist is
        None.
        """
        forced = self.forced
        return {
            "tensor": self.tensor,
            "memory": self.memory,
            "objective": self.objective,
            "kept": self.kept,
            "kept_for": list(self.kept_for),
            "value": self.free.certificate.value,
            "value_if_kept": None if forced is None else forced.certificate.value,
            "cost": self.cost,
            "forbidden_by": [str(c) for c in self.forbidden],
            "conflict": None if self.conflict is None else str(self.conflict),
            "text": str(self),
        }


def _shown(value: float, metric: str) -> str:
    """Return a value of an objective in six digits, with its unit if it has one."""
    return quantity(value, metric, 6) if metric in UNITS else f"{value:.6g}"


def why_not_kept(
    arch: Arch, workload: Workload, tensor: str, memory: str, **options: Unpack[SearchOptions]
) -> NotKept:
    """Say what it costs to keep a tensor in a memory, or which rules forbid it.

    Two searches are made: for the best mapping, and for the best one in which every Einsum that
    uses the tensor must keep it in the memory. `options`: those of `search`; the budget is for
    both. Raises SpecError for a component that does not exist or holds no tensors, TilewrightError
    for a tensor that no Einsum uses, InfeasibleMapping if nothing fits without the demand, and
    whatever else a search raises (UnsupportedFeature, an ended budget).
    """
    node = _holder(arch, memory)
    users = _users(workload, tensor, options.get("einsum"))
    objective = options.get("objective", "energy")
    ends = budget_from(options.get("budget"))
    free = search(arch, workload, **_with_budget_share(options, ends, FREE_SHARE))
    holding = _holding(free.best.mapping.nodes, tensor, memory)
    others = [einsum for einsum in users if einsum.name not in holding]
    if not others:
        return NotKept(tensor, memory, objective, free, free, kept=True)
    answer = NotKept(
        tensor,
        memory,
        objective,
        free,
        forced=None,
        kept=False,
        forbidden=tuple(_forbidding(arch, workload, others, tensor, memory)),
        kept_for=tuple(einsum.name for einsum in users if einsum.name in holding),
        left_out=tuple(einsum.name for einsum in others),
    )
    keeping = _forced(arch, node, tensor)
    try:
        forced = search(keeping, workload, **_with_budget_share(options, ends, 1.0))
    except InfeasibleMapping as error:
        return replace(answer, conflict=error)
    return replace(answer, forced=forced)


def _users(workload: Workload, tensor: str, chosen: str | None) -> list[Einsum]:
    """Return the Einsums that use a tensor, of all or of one that is chosen."""
    einsums = [workload.einsum(chosen)] if chosen else workload.einsums
    users = [einsum for einsum in einsums if tensor in einsum.tensors]
    if not users:
        close = did_you_mean(tensor, workload.tensors) or None
        raise TilewrightError("no Einsum touches this tensor", value=tensor, instead=close)
    return users


def _with_budget_share(options: SearchOptions, ends: Budget, share: float) -> SearchOptions:
    """Return the options with a share of the remaining seconds, if there is a budget."""
    seconds = ends.seconds_left
    return options if seconds is None else {**options, "budget": share * seconds}


def _holder(arch: Arch, memory: str) -> Node:
    node = arch.node(memory)
    if not isinstance(node.spec, HolderSpec):
        raise SpecError(f"{memory} holds no tensors", where=arch.where(node))
    return node


def _forced(arch: Arch, node: Node, tensor: str) -> Arch:
    """Return the architecture in which the memory at `node` must keep one more tensor."""
    assert isinstance(node.spec, HolderSpec)
    rules: TensorsSpec = node.spec.tensors
    may = "All" if rules.keep is None else "Nothing"
    if rules.may_keep is not None:
        may = set_text(rules.may_keep)
    keep = tensor if rules.keep is None else f"{set_text(rules.keep)} | {tensor}"
    return arch.with_values(
        {f"{node.name}.tensors.keep": keep, f"{node.name}.tensors.may_keep": f"{may} | {tensor}"}
    )


def _forbidding(
    arch: Arch, workload: Workload, users: Sequence[Einsum], tensor: str, memory: str
) -> list[MappingConstraint]:
    """Return the constraints that forbid keeping the tensor in the memory, each once.

    `users`: the Einsums that use the tensor.
    """
    forbidding: dict[str, MappingConstraint] = {}
    for einsum in users:
        for c in ConstrainedEinsum(arch, workload, einsum).constraints:
            if (c.kind, c.component, c.tensor) == ("may_keep", memory, tensor):
                forbidding.setdefault(c.text, c)
            if (c.kind, c.component) == ("enabled", memory):
                forbidding.setdefault(c.text, c)
    return list(forbidding.values())


def _holding(nodes: Sequence[Step], tensor: str, memory: str, is_held: bool = False) -> set[str]:
    """Return the Einsums whose path passes a holder of the tensor in the memory.

    `is_held`: such a holder stands above `nodes`.
    """
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, Storage) and node.component == memory and tensor in node.tensors:
            is_held = True
        elif isinstance(node, Sequential):
            for branch in node.branches:
                names |= _holding(branch, tensor, memory, is_held)
        elif is_held and isinstance(node, ComputeNode):
            names.add(node.einsum)
    return names
