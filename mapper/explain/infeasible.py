"""Why an Einsum has no mapping: the smallest conflict, in numbers, and the least relaxations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.explain.conflict import Conflict, find_conflict, smallest_correction
from tilewright.mapper.explain.constraint import MappingConstraint, of_size
from tilewright.mapper.explain.relaxation import (
    Relaxation,
    least_size,
    lifted_altogether,
    relaxation_of,
)
from tilewright.mapper.explain.subject import ConstrainedEinsum, TooLarge
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import NoFeasibleMapping
from tilewright.mapper.workload.workload import Workload

_CUT = "This explanation was cut short; there may be more to say."
_SAID = {
    "smallest": "conflict; no smaller set does",
    "irreducible": "conflict; without any one of them the others can be kept",
    "unreduced": "conflict; a smaller set of them may do so too",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Say why an Einsum has no mapping, in numbers, and what would help.

    `einsum`: its name. `conflicts`: the smallest set of constraints that no mapping keeps together,
    then further ones that share no constraint with those before; empty if no constraint can be
    blamed. `lines`: per conflict, its constraints in words; for the size of a memory also the bits
    that the others need. `relaxations`: every single change that makes a mapping possible, the
    smallest change of a number first, then constraints that can only be removed. `together`:
    changes that help together, if no single one does. `cut`: time or work ended early; what is said
    is true but may be incomplete. str() gives the explanation as text.
    """

    einsum: str
    conflicts: tuple[Conflict, ...]
    lines: tuple[tuple[str, ...], ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    together: tuple[Relaxation, ...] = ()
    cut: bool = False

    def __str__(self) -> str:
        return f"{self._said}\n{_CUT}" if self.cut else self._said

    @property
    def _said(self) -> str:
        head = f"no mapping of {self.einsum} fits"
        if not self.conflicts:
            whatever = ", whatever the constraints of the architecture"
            return head if self.cut else f"{head}{whatever}"
        paragraphs: list[str] = []
        for conflict, lines in zip(self.conflicts, self.lines, strict=True):
            says = f"These {len(lines)} constraints {_SAID[conflict.kind]}:"
            if len(lines) == 1:
                says = "One constraint alone is too much:"
            paragraphs += [says, *(f"  - {line}" for line in lines)]
        return "\n".join([f"{head}. {paragraphs[0]}", *paragraphs[1:]])

    @property
    def help(self) -> str:
        """What to write in the architecture instead, as text for an error message."""
        if self.relaxations:
            return "\n        or: ".join(r.text for r in self.relaxations)
        if self.together:
            return "all of: " + "; ".join(r.text for r in self.together)
        return "other constraints; which was not found in time" if self.cut else "other constraints"


def explain_infeasible(subject: ConstrainedEinsum) -> Explanation | None:
    """Explain why an Einsum has no mapping; None if it has one.

    `subject`: the Einsum with the constraints of its architecture. Exact for the mapspace it
    describes; min_usage counts as no constraint, because it gives way where no mapping reaches it.
    If it cannot be decided in the time allowed whether there is a mapping, none is taken to exist,
    as a search has proven, and the explanation blames nothing.
    """
    active = frozenset(subject.constraints)
    try:
        if subject.feasible(active):
            return None
    except TooLarge:  # the search has proven that there is none
        return Explanation(subject.einsum.name, (), cut=subject.cut)
    conflicts = tuple(_conflicts(subject))
    lines = [tuple(str(c) for c in conflict.constraints) for conflict in conflicts]
    relaxations: list[Relaxation] = []
    together: tuple[Relaxation, ...] = ()
    subject.spent = 0.0
    try:
        for number, conflict in enumerate(conflicts):
            lines[number] = tuple(_line(subject, conflict, c) for c in conflict.constraints)
        relaxations = _single(subject, conflicts, active)
        if conflicts and not relaxations:
            together = tuple(_together(subject, conflicts[0]))
    except TooLarge:
        pass  # what was found so far is true
    return Explanation(
        subject.einsum.name, conflicts, tuple(lines), tuple(relaxations), together, subject.cut
    )


def _conflicts(subject: ConstrainedEinsum) -> Iterator[Conflict]:
    """Yield the smallest conflict, then the smallest one among constraints not yet in any."""
    remaining = subject.constraints
    while remaining and not _known_feasible(subject, frozenset(remaining)):
        conflict = find_conflict(remaining, subject.feasible)
        if conflict is None:
            return
        yield conflict
        remaining = tuple(c for c in remaining if c not in conflict.constraints)


def _known_feasible(subject: ConstrainedEinsum, active: frozenset[MappingConstraint]) -> bool:
    try:
        return subject.feasible(active)
    except TooLarge:
        return True


def _single(
    subject: ConstrainedEinsum, conflicts: Sequence[Conflict], active: frozenset[MappingConstraint]
) -> list[Relaxation]:
    """Return, for every constraint that helps on its own, the least change of it; smallest first.

    Such a change breaks every conflict. So it belongs to the first, and there is no second one: the
    result is empty with several. `active`: the constraints that hold.
    """
    if len(conflicts) != 1:
        return []
    relaxations: list[Relaxation | None] = []
    for c in conflicts[0].constraints:
        with suppress(TooLarge):  # another constraint may be easier to decide
            relaxations.append(relaxation_of(subject, c, active))
    return sorted((r for r in relaxations if r is not None), key=lambda r: r.change)


def _together(subject: ConstrainedEinsum, conflict: Conflict) -> Iterator[Relaxation]:
    """Yield changes that help together: each the least change when the others are lifted."""
    lifted = frozenset(smallest_correction(conflict, subject.constraints, subject.feasible))
    remaining = frozenset(subject.constraints) - lifted
    relaxations = [relaxation_of(subject, c, remaining | {c}) for c in _ordered(subject, lifted)]
    relaxed = [r for r in relaxations if r is not None]
    edits = {r.constraint: r.edit for r in relaxed}
    if subject.fits(subject.spaces(remaining | lifted, edits)):
        yield from relaxed
    else:
        yield from (lifted_altogether(c) for c in _ordered(subject, lifted))


def _ordered(
    subject: ConstrainedEinsum, chosen: frozenset[MappingConstraint]
) -> list[MappingConstraint]:
    return [c for c in subject.constraints if c in chosen]


def why_infeasible(
    arch: Arch, workload: Workload, einsum: Einsum, conventions: str = "default",
    backed: frozenset[str] = frozenset(),
) -> Explanation | None:  # fmt: skip
    """Explain why an Einsum has no mapping on an architecture; None if it has one.

    `conventions`: name of the counting rules. `backed`: tensors that the outermost memory must
    keep, as mapping Einsums one by one demands. Raises TilewrightError for an architecture that
    cannot be evaluated for this Einsum.
    """
    return explain_infeasible(ConstrainedEinsum(arch, workload, einsum, conventions, backed))


def no_mapping(subject: ConstrainedEinsum) -> NoFeasibleMapping:
    """Return the error to raise for an Einsum without a mapping, with its explanation.

    `subject`: the Einsum with the constraints of its architecture. If it has a mapping after all,
    the error says that the search method has found none and what to try. Nothing is raised here.
    """
    explanation = explain_infeasible(subject)
    if explanation is None:  # the search found none where there is one: its method proves nothing
        return NoFeasibleMapping(
            f"no mapping of {subject.einsum.name} was found, though there is one",
            instead='a larger budget, or method="exact"',
        )
    first_place = explanation.conflicts[0].constraints[0].where if explanation.conflicts else None
    notes = [*_left_out(subject, explanation), *_not_told_apart(subject, explanation)]
    text = "\n".join([str(explanation), *notes])
    return NoFeasibleMapping(text, where=first_place, instead=explanation.help)


def _left_out(subject: ConstrainedEinsum, explanation: Explanation) -> Iterator[str]:
    """Yield a line naming exchanged tensors that a memory's least size does not count."""
    blamed = [c for conflict in explanation.conflicts for c in conflict.constraints]
    uncounted = subject.exchanged - {c.tensor for c in blamed}
    if uncounted and any(c.kind == "size" for c in blamed):
        names = ", ".join(t for t in subject.einsum.tensors if t in uncounted)
        yield f"What it exchanges with other Einsums ({names}) may need room, too."


def _not_told_apart(subject: ConstrainedEinsum, explanation: Explanation) -> Iterator[str]:
    """Yield a line if the workload does not say which of two tensors `weight` stands for."""
    renames = subject.einsum.renames
    weights = renames.get("weight", frozenset())
    blamed = {c.tensor for conflict in explanation.conflicts for c in conflict.constraints}
    if len(weights) > 1 and not renames.get("input") and weights & blamed:
        names = [tensor for tensor in subject.einsum.tensors if tensor in weights]
        yield (
            f"Here `weight` stands for {' and '.join(names)}: the workload does not say which is "
            f"the input, as `renames: {{input: {names[0]}, weight: {names[-1]}}}` would."
        )


def _line(subject: ConstrainedEinsum, conflict: Conflict, constraint: MappingConstraint) -> str:
    """Return a constraint in words; a size with the least bits that the other constraints need."""
    if constraint.kind != "size" or conflict.kind == "unreduced":
        return str(constraint)
    conflicting = frozenset(conflict.constraints) - {constraint}
    size = least_size(subject, constraint, conflicting)
    bits_of = _bits_per_tensor(subject, constraint, conflicting, size)
    listed = ", ".join(f"{bits:g} bit for {tensor}" for tensor, bits in bits_of.items())
    return f"{constraint}, but the others need at least {size:g}: {listed}"


def _bits_per_tensor(
    subject: ConstrainedEinsum,
    constraint: MappingConstraint,
    active: frozenset[MappingConstraint],
    size: float,
) -> dict[str, float]:
    """Return the bits of each tensor in a mapping for which a memory of `size` bits is enough.

    `constraint`: the size of this memory; `active`: the other constraints that hold. Empty without
    such a mapping.
    """
    for space in subject.spaces(active | {constraint}, {constraint: of_size(size)}):
        mapping = subject.mapping_of(space)
        if mapping is not None:
            return mapping.bits(constraint.component)
    return {}
