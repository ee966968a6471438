"""Why an Einsum has no mapping: the smallest conflict, in numbers, and the least relaxations."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.tree import Arch
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import NoFeasibleMapping
from tilewright.mapper.explain.conflict import Conflict, find_conflict, smallest_correction
from tilewright.mapper.explain.constraint import Constraint
from tilewright.mapper.explain.reach import first_mapping
from tilewright.mapper.explain.relaxation import Relaxation, least_size, relaxation_of
from tilewright.mapper.explain.subject import Subject, TooLarge
from tilewright.mapper.mapspace.points import occupied
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.workload import Workload

_SAID = {
    "smallest": "conflict; no smaller set does",
    "irreducible": "conflict; without any one of them the others can be kept",
    "unreduced": "conflict; a smaller set of them may do so too",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why `einsum` has no mapping.

    `lines`: the constraints of the conflict in words, sizes with what the others need of them.
    `relaxations`: every single one that helps, the least change of a number first, then what can
    only be lifted. `together`: if no single one helps, constraints that help when lifted together.
    """

    einsum: str
    conflict: Conflict | None
    lines: tuple[str, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    together: tuple[Constraint, ...] = ()

    def __str__(self) -> str:
        if self.conflict is None:
            return f"no mapping of {self.einsum} fits, whatever the constraints of the architecture"
        count = len(self.lines)
        head = f"no mapping of {self.einsum} fits. "
        if count == 1:
            return head + f"One constraint alone is too much:\n  - {self.lines[0]}"
        says = _SAID[self.conflict.kind]
        return "\n".join([f"{head}These {count} constraints {says}:"]
                         + [f"  - {line}" for line in self.lines])  # fmt: skip

    @property
    def help(self) -> str:
        """What to write instead."""
        if self.relaxations:
            return "\n           or ".join(r.text for r in self.relaxations)
        if self.together:
            return "lift together: " + "; ".join(f"{c.text} ({c.path})" for c in self.together)
        return "other constraints"


def explain_infeasible(
    subject: Subject,
) -> Explanation | None:
    """Explain why the Einsum of `subject` has no mapping; None if it has one.

    Exact for even tiles under the rules of the mapspace; min_usage gives way (Subject).
    """
    constraints = subject.constraints
    active = frozenset(constraints)
    name = subject.einsum.name
    if subject.feasible(active):
        return None
    conflict = find_conflict(constraints, subject.feasible)
    if conflict is None:
        return Explanation(name, None)
    subject.spent = 0.0
    relaxations: list[Relaxation] = []
    together: tuple[Constraint, ...] = ()
    lines = [str(c) for c in conflict.constraints]
    try:
        lines = [_line(subject, conflict, c) for c in conflict.constraints]
        found = [relaxation_of(subject, c, active) for c in conflict.constraints]
        relaxations = sorted((r for r in found if r is not None), key=lambda r: r.change)
        if not relaxations:
            together = smallest_correction(conflict, constraints, subject.feasible)
    except TooLarge:
        pass
    return Explanation(name, conflict, tuple(lines), tuple(relaxations), together)


def why_infeasible(
    arch: Arch, workload: Workload, einsum: Einsum, conventions: str = "default",
    backed: frozenset[str] = frozenset(),
) -> Explanation | None:  # fmt: skip
    """Explain why `einsum` has no mapping on `arch`; None if it has one.

    `backed`: tensors that the outermost memory must keep, as mapping Einsums one by one asks.
    """
    return explain_infeasible(Subject(arch, workload, einsum, conventions, backed))


def no_mapping(subject: Subject) -> NoFeasibleMapping:
    """Return the error for an Einsum without a mapping, with its explanation."""
    found = explain_infeasible(subject)
    if found is None:  # the search found none where there is one: its method proves nothing
        return NoFeasibleMapping(
            f"no mapping of {subject.einsum.name} was found, though there is one",
            instead="a larger budget, or method=\"exact\"",
        )
    where = found.conflict.constraints[0].where if found.conflict else None
    return NoFeasibleMapping(str(found), where=where, instead=found.help)


def _line(subject: Subject, conflict: Conflict, constraint: Constraint) -> str:
    """Write a constraint; a size with what the others of the conflict need at least."""
    if constraint.kind != "size":
        return str(constraint)
    others = frozenset(conflict.constraints) - {constraint}
    size = least_size(subject, constraint, others)
    parts = _parts(subject, constraint, others, size)
    each = ", ".join(f"{bits:g} for {tensor}" for tensor, bits in parts.items())
    return f"{constraint}; the others need at least {size:g}: {each}"


def _parts(
    subject: Subject, constraint: Constraint, active: frozenset[Constraint], size: float
) -> dict[str, float]:
    """Return the bits of each tensor in a mapping that needs no more than `size`."""
    from dataclasses import replace

    edits = {constraint: lambda c: replace(c, size=size)}
    for space in subject.spaces(active | {constraint}, edits):
        found = first_mapping(space)
        if found is not None:
            template, tiles = found
            slots = skeleton(space.frame, template)
            return occupied(space.frame, slots, tiles).get(constraint.component, {})
    return {}
