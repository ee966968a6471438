"""Why Einsums that fit one by one do not fit together: what they exchange has no room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec import HolderSpec
from tilewright.arch.tree import Arch
from tilewright.mapper.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.explain.conflict import find_conflict
from tilewright.mapper.explain.constraint import Constraint, set_text
from tilewright.mapper.explain.infeasible import no_mapping
from tilewright.mapper.explain.subject import Active, Subject, TooLarge
from tilewright.mapper.searches.cascade import shared_tensors
from tilewright.mapper.searches.options import Request

SEARCHES = 150  # of the whole workload, for one explanation
_TENSOR_KINDS = ("keep", "may_keep", "no_refetch_from_above", "no_resend_to_below")


def no_mapping_together(request: Request) -> InfeasibleMapping:
    """Return the error for a workload without a mapping, fused or not.

    It names the Einsum that has none on its own, if there is one; else the conflict between the
    Einsums, among the sizes of memories and the rules about tensors.
    """
    alone = no_mapping_alone(request)
    return _Together(request, _subjects(request)).explained() if alone is None else alone


def no_mapping_alone(request: Request) -> InfeasibleMapping | None:
    """Return the error for the first Einsum that has no mapping wherever shared tensors stay."""
    shared = shared_tensors(request.workload)
    for subject in _subjects(request):
        subject.exchanged = shared & frozenset(subject.einsum.tensors)
        if not subject.feasible(frozenset(subject.constraints)):
            return no_mapping(subject)
    return None


def _subjects(request: Request) -> list[Subject]:
    return [
        Subject(
            request.arch, request.workload, einsum, request.options.conventions,
            uneven=request.uneven(einsum),
        )
        for einsum in request.workload.einsums
    ]  # fmt: skip


class _Together:
    """The whole workload with constraints that can be lifted, tried by searching it."""

    def __init__(self, request: Request, subjects: list[Subject]) -> None:
        self._request = request
        found: dict[Constraint, Constraint] = {}
        self._sizes: dict[str, float] = {}
        for subject in subjects:
            self._sizes |= subject.sizes()
            for c in subject.constraints:
                if c.kind == "size" or c.kind in _TENSOR_KINDS:
                    found.setdefault(c, c)
        self._constraints = tuple(found)
        self._searches = 0
        self._known: dict[Active, bool] = {}

    def explained(self) -> NoFeasibleMapping:
        """Return the error with the conflict and what helps, each tried by a search."""
        names = [einsum.name for einsum in self._request.workload.einsums]
        head = f"{', '.join(names)} have mappings one by one, but none together"
        conflict = find_conflict(self._constraints, self.feasible)
        if conflict is None:
            return NoFeasibleMapping(head, instead="larger memories; what helps was not found")
        try:
            helps = list(self._helps(conflict.constraints))
        except TooLarge:
            helps = []
        lines = "\n".join(f"  - {c}" for c in conflict.constraints)
        return NoFeasibleMapping(
            f"{head}. These {len(conflict.constraints)} constraints conflict"
            f" ({conflict.kind} set):\n{lines}",
            where=conflict.constraints[0].where,
            instead="\n        or: ".join(helps) or "other constraints",
        )

    def _helps(self, blamed: tuple[Constraint, ...]) -> Iterator[str]:
        everything = frozenset(self._constraints)
        for c in blamed:
            if not self.feasible(everything - {c}):
                continue
            if c.kind == "size":
                yield f"{c.path}: {self._least(c):g} (now {self._sizes[c.component]:g})"
            else:
                with_or_out = "with {} too" if c.kind == "may_keep" else "without {}"
                yield f"{c.path}: {with_or_out.format(c.tensor)}"

    def _least(self, constraint: Constraint) -> int:
        low = int(self._sizes[constraint.component])
        high = self._plenty()
        while high - low > 1:
            middle = (low + high) // 2
            arch = self._request.arch.with_values({constraint.path: middle})
            if self._fits(arch):
                high = middle
            else:
                low = middle
        return high

    def _plenty(self) -> int:
        """Bits for all tensors of the workload at once."""
        total = 0.0
        for einsum in self._request.workload.einsums:
            for access in einsum.accesses:
                size = access.tile_size(einsum.bounds) * float(access.bits_per_value)
                total += size * einsum.n_instances
        return 4 * int(total) + 4 * int(max(s for s in self._sizes.values() if s < 1e300))

    def feasible(self, active: Active) -> bool:
        """Tell whether the workload has a mapping under these constraints."""
        if active not in self._known:
            lifted = [c for c in self._constraints if c not in active]
            self._known[active] = self._fits(self._lifted(lifted))
        return self._known[active]

    def _fits(self, arch: Arch) -> bool:
        from tilewright.mapper.searches.api import answer

        self._searches += 1
        if self._searches > SEARCHES:
            raise TooLarge
        options = replace(self._request.options, objective="energy", front=(), progress=None)
        try:
            answer(replace(self._request, arch=arch, options=options), explain=False)
        except TilewrightError:
            return False
        return True

    def _lifted(self, constraints: list[Constraint]) -> Arch:
        """Write the architecture without some constraints."""
        changes: dict[str, object] = {}
        for c in constraints:
            if c.kind == "size":
                changes[c.path] = self._plenty()
                continue
            spec = self._request.arch.node(c.component).spec
            assert isinstance(spec, HolderSpec)
            field = f"{c.component}.tensors."
            rules = spec.tensors
            may = changes.get(f"{field}may_keep", rules.may_keep)
            if may is None:
                may = "All" if rules.keep is None else "Nothing"
            if c.kind in ("keep", "may_keep"):
                changes[f"{field}may_keep"] = f"{set_text(may)} | {c.tensor}"
            if c.kind != "may_keep":
                old = changes.get(f"{field}{c.kind}", getattr(rules, c.kind))
                changes[f"{field}{c.kind}"] = f"{set_text(old)} - {c.tensor}"
        return self._request.arch.with_values(changes)
