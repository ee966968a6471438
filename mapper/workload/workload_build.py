"""Build the Einsums of a workload file: ranges of rank variables, sets, renames, widths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import Where
from tilewright.arch.files.document import DocPath, Document
from tilewright.arch.files.toplevel import check_top_level
from tilewright.arch.flattening.scope import LazyNames
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.schema import parse
from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.notation import (
    ParsedAccess,
    ParsedEinsum,
    parse_einsum,
    parse_projection,
    rank_of_variable,
)
from tilewright.mapper.workload.variable_ranges import Limit, limits_of_rank, parse_limits, ranges
from tilewright.mapper.workload.workload import Workload, in_one_order
from tilewright.mapper.workload.workload_check import (
    EinsumDraft,
    check_agreement,
    check_draft,
    outside_indices,
    padded_ranks,
    window_variables,
)
from tilewright.mapper.workload.workload_file import (
    AccessSpec,
    EinsumSpec,
    RenamesSpec,
    WorkloadSpec,
)
from tilewright.mapper.workload.workload_names import Names, whole_number

Access = tuple[ParsedAccess, bool, AccessSpec | None]
_MOST = 10**100


def build_workload(document: Document, variables: Mapping[str, object]) -> Workload:
    """Return the workload that a document (a parsed YAML file) describes.

    `variables` replace those of the file. Raises WorkloadError if the Einsums contradict
    themselves or each other or are too large for exact costs, and SpecError for wrong fields, each
    with the place of the first error.
    """
    check_top_level(document, "workload", "workload")
    spec = parse(WorkloadSpec, document, ("workload",))
    all_variables = _variables(document, variables)
    limits = _WorkloadLimits(document, spec, all_variables)
    drafts = [
        _draft(document, path, item, limits)
        for path, item in _flat(document, ("workload", "einsums"), spec.einsums)
    ]
    if not drafts:
        raise WorkloadError(
            "the workload has no Einsum",
            where=document.where(("workload", "einsums")),
            instead='for example - "Z[m, n] = A[m, k] * B[k, n]"',
        )
    check_agreement(drafts)
    limits.check_used(drafts)
    names = Names(document, spec, _renames(document), drafts, all_variables)
    finished = [_finish(draft, names) for draft in drafts]
    for draft, (einsum, _) in zip(drafts, finished, strict=True):
        _check_size(einsum, draft.where)
    return Workload(
        tuple(in_one_order([einsum for einsum, _ in finished])),
        {scope.einsum: scope for _, scope in finished},
        document.file,
        tuple(index for draft in drafts for index in draft.outside),
    )


def _check_size(einsum: Einsum, where: Where) -> None:
    """Raise WorkloadError if the counts of an Einsum come near the largest float.

    Counts are exact, but energies are floats.
    """
    sizes = {a.tensor: a.tile_size(einsum.bounds) for a in einsum.accesses}
    sizes["operations"] = einsum.operations * einsum.n_instances
    for name, size in sizes.items():
        if size > _MOST:
            raise WorkloadError(
                f"Einsum {einsum.name} is too large: {name} has a number of {len(str(size))} digits"
                if size < 10**4000
                else f"Einsum {einsum.name} is too large: {name}",
                where=where,
                instead="smaller rank_sizes, factors or n_instances",
            )


def _variables(document: Document, overrides: Mapping[str, object]) -> dict[str, object]:
    top = document.data
    file_variables = top.get("variables") if isinstance(top, dict) else None
    return {**(file_variables if isinstance(file_variables, dict) else {}), **overrides}


def _renames(document: Document) -> RenamesSpec:
    top = document.data
    if isinstance(top, dict) and top.get("renames") is not None:
        return parse(RenamesSpec, document, ("renames",))
    return RenamesSpec()


def _flat(document: Document, path: DocPath, items: object) -> Iterator[tuple[DocPath, object]]:
    """Yield (path, item) of a list of Einsums.

    Lists in the list, from included files, are opened.
    """
    if isinstance(items, list | tuple):
        for number, item in enumerate(items):
            yield from _flat(document, (*path, number), item)
    else:
        yield path, items


def _draft(
    document: Document, path: DocPath, item: object, workload_limits: _WorkloadLimits
) -> EinsumDraft:
    where = document.where(path)
    spec = (
        EinsumSpec(einsum=item)
        if isinstance(item, str)
        else parse(EinsumSpec, document, path, data=item)
    )
    written, name, parsed = _accesses(spec, document, path)
    accesses, repeated = _named_apart(written)
    draft = EinsumDraft(
        name, spec, path, where, accesses, {}, parsed.combine, parsed.formula, repeated=repeated
    )
    check_draft(draft)
    try:
        return _in_ranges(draft, workload_limits, {})
    except WorkloadError:
        windows = window_variables(draft, workload_limits.sizes_of(draft).keys())
        if not windows:
            raise
        return _in_ranges(draft, workload_limits, windows)


def _in_ranges(
    draft: EinsumDraft, workload_limits: _WorkloadLimits, windows: Mapping[str, str]
) -> EinsumDraft:
    """Return an Einsum with the ranges of its variables, and the indices that leave their ranks.

    `windows`: ranks whose sizes bound rank variables of windows, by variable. Raises WorkloadError
    for a variable without bounds.
    """
    limits = workload_limits.of(draft, windows)
    draft = replace(draft, ranges=ranges(draft.variables, limits, draft.name, draft.where))
    sizes, padding = workload_limits.sizes_of(draft), workload_limits.padding_of(draft)
    outside = tuple(outside_indices(draft, sizes, padding))
    return replace(draft, outside=outside, sizes={rank: size for rank, (size, _) in sizes.items()})


def _accesses(
    spec: EinsumSpec, document: Document, path: DocPath
) -> tuple[tuple[Access, ...], str, ParsedEinsum]:
    where = document.where(path)
    if spec.einsum is None:
        listed = enumerate(_listed(spec, where))
        long = tuple(_long(access, document, path, number) for number, access in listed)
        return long, _name(spec, where), ParsedEinsum(tuple(access for access, _, _ in long))
    if spec.tensor_accesses:
        raise WorkloadError(
            "an Einsum is written in the concise or in the long form, not in both",
            where=where,
            instead="leave out einsum: or tensor_accesses:",
        )
    parsed = parse_einsum(spec.einsum, where)
    short = tuple((access, number == 0, None) for number, access in enumerate(parsed.accesses))
    return short, spec.name or parsed.accesses[0].tensor, parsed


def _named_apart(accesses: Sequence[Access]) -> tuple[tuple[Access, ...], dict[str, str]]:
    """Give every further access that reads a tensor a name of its own: `A.2`, `A.3`, …

    Return the accesses, and the tensor behind each new name.
    """
    taken = {access.tensor for access, _, _ in accesses}
    outputs = {access.tensor for access, is_output, _ in accesses if is_output}
    apart: list[Access] = []
    repeated: dict[str, str] = {}
    seen: set[str] = set()
    for access, is_output, long in accesses:
        name = access.tensor
        if name in seen and name not in outputs:
            numbered = (f"{name}.{n}" for n in range(2, len(accesses) + len(taken) + 2))
            new_name = next(n for n in numbered if n not in taken)
            taken.add(new_name)
            repeated[new_name] = name
            apart.append((ParsedAccess(new_name, access.projection), is_output, long))
        else:
            apart.append((access, is_output, long))
        seen.add(name)
    return tuple(apart), repeated


def _name(spec: EinsumSpec, where: Where) -> str:
    if spec.name is None:
        raise WorkloadError("an Einsum needs a name", where=where, instead="name: Matmul1")
    return spec.name


def _listed(spec: EinsumSpec, where: Where) -> tuple[AccessSpec, ...]:
    if not spec.tensor_accesses:
        raise WorkloadError(
            "an Einsum needs tensors",
            where=where,
            instead='einsum: "Z[m, n] = A[m, k] * B[k, n]", or tensor_accesses: […]',
        )
    return spec.tensor_accesses


def _long(
    access: AccessSpec, document: Document, path: DocPath, number: int
) -> tuple[ParsedAccess, bool, AccessSpec]:
    where = document.where((*path, "tensor_accesses", number, "projection"))
    if isinstance(access.projection, tuple):
        entries = {rank_of_variable(v, access.name, where): v for v in access.projection}
    else:
        entries = {rank: str(expression) for rank, expression in access.projection.items()}
    projection = parse_projection(access.name, entries, where)
    return ParsedAccess(access.name, projection), access.output, access


class _WorkloadLimits:
    """The sizes, paddings and bounds that a workload writes once for all its Einsums.

    Read when first asked for.
    """

    def __init__(
        self, document: Document, workload: WorkloadSpec, variables: Mapping[str, object]
    ) -> None:
        self._document = document
        self._workload = workload
        self._variables = variables

    @cached_property
    def _sizes(self) -> Mapping[str, tuple[int, Where]]:
        path = ("workload", "rank_sizes")
        return _sizes(self._workload.rank_sizes, self._document, path, self._variables)

    @cached_property
    def _padding(self) -> Mapping[str, tuple[int, Where]]:
        path = ("workload", "pad")
        return _sizes(self._workload.pad, self._document, path, self._variables, least=0)

    @cached_property
    def _written(self) -> list[tuple[frozenset[str], Limit]]:
        """Return each bound in `shape` and `iteration_space_shape` with the variables in it."""
        bounds: list[Limit] = []
        for name in ("shape", "iteration_space_shape"):
            bounds += _written_limits(
                getattr(self._workload, name), self._document, ("workload", name)
            )
        return [(_variables_of(limit), limit) for limit in bounds]

    def check_used(self, drafts: Sequence[EinsumDraft]) -> None:
        """Raise WorkloadError for a bound on variables that no Einsum has together."""
        variables_of = [frozenset(draft.variables) for draft in drafts]
        for names, limit in self._written:
            if not any(names <= variables for variables in variables_of):
                known = frozenset[str]().union(*variables_of)
                unknown = sorted(names - known)
                raise WorkloadError(
                    "no Einsum has the rank variables of this bound",
                    where=limit.where,
                    value=limit.text,
                    instead=did_you_mean(unknown[0], known) if unknown else None,
                )

    def sizes_of(self, draft: EinsumDraft) -> dict[str, tuple[int, Where]]:
        """Return the size of each rank, with its place in the file."""
        path = (*draft.path, "rank_sizes")
        sizes = _sizes(draft.spec.rank_sizes, self._document, path, self._variables)
        return {**self._sizes, **sizes}

    def padding_of(self, draft: EinsumDraft) -> dict[str, int]:
        """Return how far indices may reach beyond each end of a rank, in positions."""
        path = (*draft.path, "pad")
        pads = _sizes(draft.spec.pad, self._document, path, self._variables, least=0)
        padding = {**self._padding, **pads}
        return {rank: positions for rank, (positions, _) in padding.items()}

    def of(self, draft: EinsumDraft, windows: Mapping[str, str]) -> list[Limit]:
        """Return all limits on an Einsum's variables: sizes of ranks, then written bounds.

        `windows`: ranks whose sizes bound rank variables of windows, by variable.
        """
        document, spec = self._document, draft.spec
        limits = self._of_ranks(draft, windows)
        variables = frozenset(draft.variables)
        limits += [limit for names, limit in self._written if names <= variables]
        path = (*draft.path, "iteration_space_shape")
        written = _written_limits(spec.iteration_space_shape, document, path)
        return limits + [limit for limit in written if _variables_of(limit) <= variables]

    def _of_ranks(self, draft: EinsumDraft, windows: Mapping[str, str]) -> list[Limit]:
        """Return the limits that the sizes of ranks set on an Einsum's variables.

        A window such as `x + 1` may reach into the padding if its variables are limited by an index
        of their own, such as the `x` of an output.
        """
        sizes, padding = self.sizes_of(draft), self.padding_of(draft)
        indices = [
            (rank, form)
            for access, _, _ in draft.accesses
            for rank, form in access.projection
            if rank in sizes
        ]
        bounds = [(rank, Affine(((name, 1),), 0)) for name, rank in windows.items()]
        alone = {form.terms[0][0] for _, form in indices if _is_variable(form)} | windows.keys()
        limits: list[Limit] = []
        for rank, form in (*indices, *bounds):
            is_window = not _is_variable(form) and all(name in alone for name, _ in form.terms)
            size, place = sizes[rank]
            limits += limits_of_rank(form, size, place, rank, padding.get(rank, 0) * is_window)
        return limits


def _is_variable(form: Affine) -> bool:
    return form.constant == 0 and [factor for _, factor in form.terms] == [1]


def _written_limits(
    texts: tuple[str, ...] | dict[str, str], document: Document, path: DocPath
) -> list[Limit]:
    """Parse bounds as a file writes them, in a list or under names."""
    limits: list[Limit] = []
    for key, text in texts.items() if isinstance(texts, dict) else enumerate(texts):
        limits += parse_limits(text, document.where((*path, key)))
    return limits


def _variables_of(limit: Limit) -> frozenset[str]:
    return frozenset(name for name, _ in limit.form.terms)


def _sizes(
    sizes: Mapping[str, object],
    document: Document,
    path: DocPath,
    variables: Mapping[str, object],
    least: int = 1,
) -> dict[str, tuple[int, Where]]:
    """Return {rank: (size, place)}; a size may be an expression of others: `ceil(64 * 8 / X)`.

    `variables`: values for the names in it. Raises WorkloadError below `least`.
    """
    places = {rank: document.where((*path, rank)) for rank in sizes}
    names = LazyNames(sizes, variables, places.get)
    return {
        rank: (whole_number(names[rank], {}, places[rank], least), places[rank]) for rank in sizes
    }


def _finish(draft: EinsumDraft, names: Names) -> tuple[Einsum, Scope]:
    """Return the Einsum and its scope; rank variables then begin at 0."""
    resolved = names.of(draft)
    accesses = tuple(
        TensorAccess(
            access.tensor,
            tuple((rank, _shifted(form, draft.ranges)) for rank, form in access.projection),
            output,
            access.tensor in resolved.persistent,
            resolved.bits_per_value[access.tensor],
            draft.repeated.get(access.tensor),
            () if output else padded_ranks(draft, access),
            access.tensor in resolved.integers,
        )
        for access, output, _ in draft.accesses
    )
    einsum = Einsum(
        draft.name,
        accesses,
        draft.bounds,
        resolved.renames,
        draft.spec.is_copy_operation,
        names.instances(draft),
        draft.combine,
        {name: start for name, (start, _) in draft.ranges.items() if start},
        draft.formula,
    )
    return einsum, resolved.scope


def _shifted(form: Affine, intervals: Mapping[str, tuple[int, int]]) -> Affine:
    start = sum(factor * intervals[name][0] for name, factor in form.terms)
    return Affine(form.terms, form.constant + start)
