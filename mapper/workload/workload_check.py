"""Checks of Einsums: each by itself, and all against each other; errors name both places."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.arch.errors import Where
from tilewright.arch.files.document import DocPath
from tilewright.arch.names import fault_of_name
from tilewright.mapper.workload.einsum import Affine, Combine
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.formulas.formula import Formula
from tilewright.mapper.workload.notation import ParsedAccess
from tilewright.mapper.workload.workload import OutsideIndex
from tilewright.mapper.workload.workload_file import AccessSpec, EinsumSpec

_MOST_VARIABLES = 48  # arrays over all of them have a dimension each
_SETS = {
    "All": "of all tensors of an Einsum",
    "Tensors": "of all tensors of an Einsum",
    "Nothing": "of no tensor",
    "Inputs": "of all tensors that an Einsum reads",
    "Outputs": "of all tensors that an Einsum writes",
    "Intermediates": "of the tensors that one Einsum writes and another reads",
    "Shared": "of the tensors that several Einsums use",
    "Persistent": "of the persistent tensors",
    "Above": "of the tensors that memories further out keep",
    "Other": "of the tensors that no other key of bits_per_value names",
}
"""What names stand for in expressions; a tensor called so could not be named there."""


@dataclass(frozen=True, slots=True)
class EinsumDraft:
    """An Einsum while its file is read, before its sets and widths are known.

    `name`: of the Einsum; `spec`: its fields as written; `path`, `where`: its place in the
    document and file. `accesses`: triples (tensor with its indices, whether it is an output, its
    long form or None). `ranges`: rank variable to (first, last value). `combine`: "*" or "+"
    between inputs; `formula`: something else, None if nothing. `outside`: indices that leave their
    ranks. `repeated`: name of each further access of a tensor that is read several times, and the
    tensor. `sizes`: of the ranks.
    """

    name: str
    spec: EinsumSpec
    path: DocPath
    where: Where
    accesses: tuple[tuple[ParsedAccess, bool, AccessSpec | None], ...]
    ranges: Mapping[str, tuple[int, int]]
    combine: Combine = "*"
    formula: Formula | None = None
    outside: tuple[OutsideIndex, ...] = ()
    repeated: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """Rank variables in order of first appearance."""
        return tuple(
            dict.fromkeys(
                name
                for access, _, _ in self.accesses
                for _, form in access.projection
                for name, _ in form.terms
            )
        )

    @property
    def bounds(self) -> dict[str, int]:
        """Number of iterations of each rank variable: last value - first value + 1."""
        return {name: high - low + 1 for name, (low, high) in self.ranges.items()}

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensors that the Einsum reads or writes, in the order written."""
        return tuple(access.tensor for access, _, _ in self.accesses)

    @property
    def outputs(self) -> frozenset[str]:
        """Names of the tensors that the Einsum writes."""
        return frozenset(access.tensor for access, output, _ in self.accesses if output)


def check_draft(draft: EinsumDraft) -> None:
    """Raise WorkloadError for an Einsum that is wrong by itself.

    Wrong is a name that is reserved, stands for a set or has strange characters, an output that is
    read, too, no output, a copy Einsum without exactly one input, and a rank variable with the name
    of a tensor.
    """
    for kind, name in (("Einsum", draft.name), *(("tensor", name) for name in draft.tensors)):
        fault = fault_of_name(name)
        if fault:
            raise WorkloadError(
                f"the name of the {kind} is wrong: {fault}",
                where=draft.where,
                value=name,
                instead="letters, digits, `_`, `.` and `-`",
            )
    _check_sets(draft)
    if len(draft.variables) > _MOST_VARIABLES:
        raise WorkloadError(
            f"Einsum {draft.name} has too many rank variables",
            where=draft.where,
            value=len(draft.variables),
            instead=f"at most {_MOST_VARIABLES}: flatten some that always stand together",
        )
    _check_tensors(draft)
    names = {name for name in draft.variables if name in draft.tensors}
    if names:
        raise WorkloadError(
            f"Einsum {draft.name}: a rank variable and a tensor have the same name",
            where=draft.where,
            value=", ".join(sorted(names)),
            instead="tensors with a capital first letter",
        )


def _check_sets(draft: EinsumDraft) -> None:
    """Raise WorkloadError for a tensor with the name of a set."""
    for name in draft.tensors:
        if name in _SETS:
            raise WorkloadError(
                f"Einsum {draft.name}: the name {name} is reserved: in expressions such as"
                f" `keep: {name}` it is the set {_SETS[name]}",
                where=draft.where,
                value=name,
                instead=f"another name, such as {_another(name)}",
            )


def _another(name: str) -> str:
    return name.removesuffix("s") if name.endswith("s") else f"{name}_"


def _check_tensors(draft: EinsumDraft) -> None:
    """Raise WorkloadError unless outputs are written once and only, and a copy has one input."""
    twice = [name for name in draft.tensors if draft.tensors.count(name) > 1]
    if twice:
        raise WorkloadError(
            f"Einsum {draft.name} writes tensor {twice[0]} and touches it once more",
            where=draft.where,
            instead="give the one that it writes a name of its own",
        )
    if not draft.outputs:
        raise WorkloadError(
            f"Einsum {draft.name} writes no tensor",
            where=draft.where,
            instead="mark one tensor access with output: true",
        )
    if draft.spec.is_copy_operation and len(draft.accesses) - len(draft.outputs) != 1:
        raise WorkloadError(
            f"copy operation {draft.name} needs exactly one input",
            where=draft.where,
            value=", ".join(name for name in draft.tensors if name not in draft.outputs),
            instead="Y[m, k] = A[m, k]",
        )


def outside_indices(
    draft: EinsumDraft, sizes: Mapping[str, tuple[int, Where]], padding: Mapping[str, int]
) -> Iterator[OutsideIndex]:
    """Yield the indices of an Einsum that leave their rank further than the rank is padded.

    `sizes`: size of a rank, and where it is written; `padding`: positions of zeros beyond each of
    its ends. `T[P: p + r - 1]` with p to 55 and r to 2 has indices from -1 to 56.
    """
    windows = window_variables(draft, sizes.keys())
    for access, _, _ in draft.accesses:
        for rank, form in access.projection:
            if rank not in sizes:
                continue
            size, place = sizes[rank]
            low, high = _ends(form, draft.ranges)
            pad, needed = padding.get(rank, 0), max(-low, high - (size - 1))
            if needed > pad:
                yield OutsideIndex(
                    f"Einsum {draft.name}: the index of rank {rank} of {access.tensor} runs from "
                    f"{low} to {high}, but the rank has size {size}"
                    + (f" and padding {pad}" if pad else ""),
                    draft.where,
                    f"{low} to {high}",
                    f"pad: {{{rank}: {needed}}} if these values are zeros; else change "
                    f"rank_sizes (at {place}) or iteration_space_shape"
                    + _named_bounds(form, sizes, windows),
                )


def window_variables(draft: EinsumDraft, sized: Container[str]) -> dict[str, str]:
    """Return the rank variables of windows without weights, each with the rank of its name.

    Such a variable is in sums only: `r` of a pooling, `max(A[H: 2*p + r])`. The size of R bounds
    it, as where weights are indexed by R, if the size of H is not given. `sized`: ranks that have
    sizes.
    """
    indices = [index for access, _, _ in draft.accesses for index in access.projection]
    single = {form.terms[0][0] for _, form in indices if len(form.terms) == 1}
    ranks = {rank for rank, _ in indices}
    return {
        name: name.upper()
        for name in draft.variables
        if name not in single and name.upper() not in ranks and name.upper() in sized
    }


def _named_bounds(
    form: Affine, sizes: Mapping[str, tuple[int, Where]], windows: Mapping[str, str]
) -> str:
    """Return bounds, as text, of the rank variables of windows that an index has."""
    named = [name for name, _ in form.terms if name in windows]
    bounds = (f"{name}: 0 <= {name} < {sizes[windows[name]][0]}" for name in named)
    return f": {{{', '.join(bounds)}}}" if named else ""


def padded_ranks(draft: EinsumDraft, access: ParsedAccess) -> tuple[tuple[str, int], ...]:
    """Return (rank, size) of the ranks of a tensor with an index beyond an end of theirs."""
    return tuple(
        (rank, draft.sizes[rank])
        for rank, form in access.projection
        if rank in draft.sizes and _leaves(_ends(form, draft.ranges), draft.sizes[rank])
    )


def _leaves(ends: tuple[int, int], size: int) -> bool:
    return ends[0] < 0 or ends[1] >= size


def _ends(form: Affine, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the least and the greatest value of an index.

    `ranges`: first and last value per variable.
    """
    ends = [[factor * value for value in ranges[name]] for name, factor in form.terms]
    return form.constant + sum(map(min, ends)), form.constant + sum(map(max, ends))


def check_agreement(drafts: list[EinsumDraft]) -> None:
    """Raise WorkloadError for Einsums of one workload that contradict each other.

    `drafts`: the Einsums as read. They must have different names; each tensor must be written at
    most once and before it is read, and have the same ranks everywhere; a rank variable must have
    the same range everywhere.
    """
    by_name: dict[str, EinsumDraft] = {}
    writers: dict[str, EinsumDraft] = {}
    readers: dict[str, EinsumDraft] = {}
    ranks: dict[str, tuple[tuple[str, ...], EinsumDraft]] = {}
    bounds: dict[str, tuple[tuple[int, int], EinsumDraft]] = {}
    for draft in drafts:
        if draft.name in by_name:
            raise _disagree(
                f"two Einsums are called {draft.name}",
                by_name[draft.name],
                draft,
                instead=f"another name: for it (the first: {by_name[draft.name].where})",
            )
        by_name[draft.name] = draft
        _check_order(draft, writers, readers)
        for access, _, _ in draft.accesses:
            rank_names = tuple(sorted(rank for rank, _ in access.projection))
            first_ranks, first = ranks.setdefault(access.tensor, (rank_names, draft))
            if first_ranks != rank_names:
                raise _disagree(
                    f"tensor {access.tensor} has ranks {', '.join(first_ranks)} "
                    f"in Einsum {first.name}, but {', '.join(rank_names)} in Einsum {draft.name}",
                    first,
                    draft,
                )
        for name, span in draft.ranges.items():
            known_span, first = bounds.setdefault(name, (span, draft))
            if known_span != span:
                raise _disagree(
                    f"rank variable {name} runs from {known_span[0]} to {known_span[1]} in Einsum "
                    f"{first.name}, but from {span[0]} to {span[1]} in Einsum {draft.name}",
                    first,
                    draft,
                )


def _check_order(
    draft: EinsumDraft, writers: dict[str, EinsumDraft], readers: dict[str, EinsumDraft]
) -> None:
    for name in sorted(draft.outputs):
        if name in writers:
            raise _disagree(
                f"Einsums {writers[name].name} and {draft.name} both write tensor {name}",
                writers[name],
                draft,
                instead=f"a tensor of its own for each (the first: {writers[name].where})",
            )
        if name in readers:
            raise _disagree(
                f"Einsum {readers[name].name} reads tensor {name} before Einsum {draft.name} "
                "writes it",
                readers[name],
                draft,
                instead=f"put {draft.name} before {readers[name].name} ({readers[name].where})",
            )
        writers[name] = draft
    for tensor in draft.repeated.values():
        if tensor in writers:
            raise _disagree(
                f"Einsum {draft.name} reads tensor {tensor} with different indices, but Einsum "
                f"{writers[tensor].name} writes it",
                writers[tensor],
                draft,
                instead=_copy_of(tensor, draft),
            )
    for name in draft.tensors:
        if name not in draft.outputs:
            readers.setdefault(name, draft)


def _copy_of(tensor: str, reader: EinsumDraft) -> str:
    """Return the copy operation that lets an Einsum read a tensor under a second name."""
    ranks = next(access.projection for access, _, _ in reader.accesses if access.tensor == tensor)
    indices = ", ".join(rank.lower() for rank, _ in ranks)
    copy = f"{tensor}_again[{indices}] = {tensor}[{indices}]"
    return (
        f'add {{einsum: "{copy}", is_copy_operation: true}} before it, and read {tensor}_again '
        "the second time (a copy for each further one)"
    )


def _disagree(
    subject: str, first: EinsumDraft, second: EinsumDraft, instead: str | None = None
) -> WorkloadError:
    advice = instead or f"make it agree with {first.where}"
    return WorkloadError(subject, where=second.where, instead=advice)


def check_names_of_tensors(
    draft: EinsumDraft, sets: Mapping[str, frozenset[str]], renames: Mapping[str, frozenset[str]]
) -> None:
    """Raise WorkloadError if a tensor has the name of a rename that stands for something else.

    `sets`: what names stand for without the renames.
    """
    doubtful = [name for name in draft.tensors if renames.get(name, sets[name]) != sets[name]]
    if not doubtful:
        return
    meanings = (
        f"{name} is one of its tensors, but as a rename it stands for "
        f"{', '.join(sorted(renames[name])) or 'no tensor'}"
        for name in doubtful
    )
    written = ", ".join(f"{name}: {name}" for name in doubtful)
    raise WorkloadError(
        f"Einsum {draft.name}: {'; '.join(meanings)}",
        where=draft.where,
        value=doubtful[0],
        instead=f"renames: {{{written}}} in this Einsum, or other names for the tensors",
    )
