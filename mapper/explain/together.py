"""Why Einsums that fit one by one do not fit together: exchanged tensors exceed the memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import HolderSpec
from tilewright.mapper.explain.conflict import Conflict, find_conflict
from tilewright.mapper.explain.constraint import MappingConstraint, set_text
from tilewright.mapper.explain.infeasible import no_mapping
from tilewright.mapper.explain.subject import Active, ConstrainedEinsum, TooLarge, concluded
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping

SEARCHES = 150  # of the whole workload, for one explanation
TILES = 150_000  # tile shapes that these may evaluate: two searches of ten large Einsums
LISTED = 12  # constraints, where no fewer are known to conflict
_TENSOR_KINDS = ("keep", "may_keep", "no_refetch_from_above", "no_resend_to_below")


def no_mapping_together(request: Request) -> InfeasibleMapping:
    """Return the error to raise for a workload that has no mapping, fused or not.

    It names the first Einsum that has none on its own, with the reason; if each has one, the
    constraints on memory sizes and tensors that conflict between the Einsums, and single changes
    that help, each tried by a search of the workload. Nothing is raised here.
    """
    subjects = _exchanging(request)
    alone = _first_alone(subjects)
    return _WorkloadConflict(request, subjects).explained() if alone is None else alone


def no_mapping_alone(request: Request) -> InfeasibleMapping | None:
    """Return the error for the first Einsum that has no mapping, wherever shared tensors stay.

    None if each Einsum has a mapping of its own, or if that cannot be decided in the time allowed.
    """
    return _first_alone(_exchanging(request))


def _first_alone(subjects: Sequence[ConstrainedEinsum]) -> InfeasibleMapping | None:
    for subject in subjects:
        with suppress(TooLarge):
            if not subject.feasible(frozenset(subject.constraints)):
                return no_mapping(subject)
    return None


def _exchanging(request: Request) -> list[ConstrainedEinsum]:
    """Return each Einsum with its constraints, where shared tensors may stay anywhere."""
    subjects, shared = _subjects(request), shared_tensors(request.workload)
    for subject in subjects:
        subject.exchanged = shared & frozenset(subject.einsum.tensors)
    return subjects


def _subjects(request: Request) -> list[ConstrainedEinsum]:
    return [
        ConstrainedEinsum(
            request.arch, request.workload, einsum, request.options.conventions,
            uneven=request.uneven_variables(einsum), budget=request.explanation_budget,
        )
        for einsum in request.workload.einsums
    ]  # fmt: skip


def _constraints(
    subjects: Sequence[ConstrainedEinsum], shared: frozenset[str]
) -> dict[MappingConstraint, None]:
    """Return the constraints that can cause a conflict between Einsums, each once.

    `shared`: the tensors that Einsums exchange. To `keep` another tensor in a memory of infinite
    size is no cause.
    """
    constraints: dict[MappingConstraint, None] = {}
    for subject in subjects:
        endless = {name for name, size in subject.sizes().items() if size == inf}
        for c in subject.constraints:
            harmless = c.kind == "keep" and c.component in endless and c.tensor not in shared
            if c.kind == "size" or (c.kind in _TENSOR_KINDS and not harmless):
                constraints.setdefault(c)
    return constraints


def _is_vague(conflict: Conflict) -> bool:
    return conflict.kind == "unreduced" and len(conflict.constraints) > LISTED


class _WorkloadConflict:
    """Finds which constraints conflict for the whole workload, by searches without some of them."""

    def __init__(self, request: Request, subjects: list[ConstrainedEinsum]) -> None:
        self._request = request
        self._subjects = subjects  # that leave open where what is exchanged is held
        self._unfused = _subjects(request)
        shared = shared_tensors(request.workload)
        for subject in self._unfused:
            subject.backed = shared & frozenset(subject.einsum.tensors)
        self._sizes = {k: v for subject in self._unfused for k, v in subject.sizes().items()}
        self._constraints = tuple(_constraints(self._unfused, shared))
        self._searches = 0
        tiles = sum(Lattice(einsum.bounds).size for einsum in request.workload.einsums)
        self._allowed = min(SEARCHES, TILES // tiles)
        self._known: dict[Active, bool] = {}
        self._unknown: set[Active] = set()

    def _conflict(self) -> Conflict | None:
        """Return the smallest set of conflicting constraints; None if there is none.

        First the `may_keep` rules of finite memories are kept, because searches without them take
        long. A conflict found so that is one without these rules, too, is the smallest.
        """
        ends = {name for name, size in self._sizes.items() if size < inf}
        fixed = {c for c in self._constraints if c.kind == "may_keep" and c.component in ends}
        liftable = [c for c in self._constraints if c not in fixed]
        conflict = find_conflict(liftable, lambda active: self.feasible(active | fixed))
        if conflict is not None and self._proven(conflict):
            return conflict
        return find_conflict(self._constraints, self.feasible)

    def _proven(self, conflict: Conflict) -> bool:
        try:
            return not self.feasible(frozenset(conflict.constraints))
        except TooLarge:
            return False

    def explained(self) -> NoFeasibleMapping:
        """Return the error with the conflict and what helps, each tried by a search."""
        names = ", ".join(einsum.name for einsum in self._request.workload.einsums)
        head = f"{names} have mappings one by one, but none together"
        if any(subject.cut for subject in self._subjects):  # then that is not known
            head = f"{names} have no mapping together"
        conflict = self._conflict()
        blamed = self._constraints if conflict is None else conflict.constraints
        instead = "\n        or: ".join(self._helps(blamed)) or "other constraints"
        if conflict is None or _is_vague(conflict):
            return NoFeasibleMapping(head, instead=instead)
        lines = "\n".join(f"  - {c}" for c in conflict.constraints)
        return NoFeasibleMapping(
            f"{head}. These {len(conflict.constraints)} constraints conflict"
            f" ({conflict.kind} set):\n{lines}",
            where=conflict.constraints[0].where,
            instead=instead,
        )

    def _helps(self, blamed: tuple[MappingConstraint, ...]) -> Iterator[str]:
        """Yield texts of single changes that help: of one constraint in `blamed` each.

        Changes that need other long searches are not tried.
        """
        everything = frozenset(self._constraints)
        for c in blamed:
            if c.kind == "size":
                self._allowed = max(self._allowed, self._searches + 1)
            with suppress(TooLarge):
                if self._verdict(everything - {c}):
                    yield self._help(c)

    def _help(self, constraint: MappingConstraint) -> str:
        """Return in words what to write instead of a constraint whose removal helps."""
        if constraint.kind != "size":
            with_or_out = "with {} too" if constraint.kind == "may_keep" else "without {}"
            return f"{constraint.path}: {with_or_out.format(constraint.tensor)}"
        size = self._sizes[constraint.component]
        try:
            return f"{constraint.path}: {self._least(constraint):g} (now {size:g})"
        except TooLarge:
            return f"{constraint.path}: more than {size:g}"

    def _least(self, constraint: MappingConstraint) -> int:
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
        """Return a number of bits that is more than all tensors of the workload need at once."""
        total = 0.0
        for einsum in self._request.workload.einsums:
            for access in einsum.accesses:
                size = access.tile_size(einsum.bounds) * float(access.bits_per_value)
                total += size * einsum.n_instances
        return 4 * int(total) + 4 * int(max(s for s in self._sizes.values() if s < 1e300))

    def feasible(self, active: Active) -> bool:
        """Tell whether the workload has a mapping under these constraints, or may have one."""
        return self._verdict(active) is not False

    def _verdict(self, active: Active) -> bool | None:
        if active in self._unknown:
            return None
        if active not in self._known:
            answer = concluded(self._known, active)
            answer = self._looked_up(active) if answer is None else answer
            if answer is None:
                self._unknown.add(active)
                return None
            self._known[active] = answer
        return self._known[active]

    def _looked_up(self, active: Active) -> bool | None:
        """Return whether the constraints can be kept, if that follows from single Einsums.

        Else None.
        """
        lifted = frozenset(self._constraints) - active
        if any(not self._alone(subject, lifted) for subject in self._subjects):
            return False
        if all(self._alone(subject, lifted) for subject in self._unfused):
            return True
        return self._fits(self._lifted([c for c in self._constraints if c in lifted]))

    def _alone(self, subject: ConstrainedEinsum, lifted: Active) -> bool:
        return subject.feasible(frozenset(subject.constraints) - lifted)

    def _fits(self, arch: Arch) -> bool | None:
        from tilewright.mapper.fusion.fused_search import solve_fused

        self._searches += 1
        if self._searches > self._allowed:
            raise TooLarge
        options = replace(self._request.options, objective="energy", front=(), progress=None)
        try:
            solve_fused(replace(self._request, arch=arch, options=options))
        except InfeasibleMapping:
            return False
        except TilewrightError:  # no search can tell
            return None
        return True

    def _lifted(self, constraints: list[MappingConstraint]) -> Arch:
        """Return the architecture without some constraints."""
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
