"""The sets behind the names of an Einsum: Inputs, Outputs, renames, persistent tensors, widths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import ExpressionError, SpecError, Where
from tilewright.arch.expressions.expressions import evaluate
from tilewright.arch.expressions.functions import exact
from tilewright.arch.expressions.sets import rank_variable_set, tensor_set
from tilewright.arch.expressions.units import unit_of
from tilewright.arch.files.document import DocPath, Document
from tilewright.arch.flattening.scope import EinsumNames, Layer, Without
from tilewright.arch.number_format import bits_of_format, close_formats
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.workload_check import EinsumDraft, check_names_of_tensors
from tilewright.mapper.workload.workload_file import RenameSpec, RenamesSpec, WorkloadSpec

# Used where a file has no `renames` of its own (inputs.md §3.2 names this default file).
_BUILT_IN = (
    RenameSpec(name="input", source="Inputs & Intermediates if len(All) == 3 else Inputs"),
    RenameSpec(name="output", source="Outputs"),
    RenameSpec(name="weight", source="~(input | output)"),
)
_Kind = Literal["tensor_accesses", "rank_variables"]
_MOST = 10**18  # more iterations or instances than anything will ever run
_NOTHING: frozenset[str] = frozenset()
_Sets = dict[str, frozenset[str]]
"""Names in expressions, and the tensors or rank variables that each stands for."""
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class ResolvedNames:
    """What the names in the expressions of one Einsum stand for.

    `renames`: general name to tensors. `persistent`: tensors that stay in memory for all
    instances. `integers`: tensors whose values are integers. `bits_per_value`: tensor to width in
    bits. `scope`: all names that an architecture file may use for this Einsum.
    """

    renames: Mapping[str, frozenset[str]]
    persistent: frozenset[str]
    integers: frozenset[str]
    bits_per_value: Mapping[str, Fraction]
    scope: Scope


def whole_number(
    value: object, names: Mapping[str, object], where: Where | None, least: int = 1
) -> int:
    """Return the value of an expression that must be a whole number from `least` to 10**18.

    `names`: values of the names in it; `where`: its place in the file. Raises WorkloadError for
    another value, ExpressionError for a text that cannot be evaluated.
    """
    result = evaluate(value, names, where)
    if isinstance(result, float) and result.is_integer():
        result = int(result)
    if isinstance(result, bool) or not isinstance(result, int):
        raise WorkloadError("this must be a whole number", where=where, value=value)
    if result < least:
        raise WorkloadError(f"this must be at least {least}", where=where, value=value)
    if result > _MOST:
        raise WorkloadError(f"this must be at most {_MOST}", where=where, value=value)
    return result


class Names:
    """Resolves the names in the expressions of a workload's Einsums.

    These are sets of tensors (Inputs, Outputs, Intermediates), general names such as weight,
    persistent tensors and widths in bits.
    """

    def __init__(
        self,
        document: Document,
        spec: WorkloadSpec,
        renames: RenamesSpec,
        drafts: list[EinsumDraft],
        variables: Mapping[str, object],
    ) -> None:
        self._document = document
        self._spec = spec
        self._given = variables
        self._renames = {
            entry.name: (entry, ("renames", "einsums", number))
            for number, entry in enumerate(renames.einsums)
        }
        uses = [name for draft in drafts for name in draft.tensors]
        self._everything = dict.fromkeys(uses, _NOTHING)
        written = {name for draft in drafts for name in draft.outputs}
        read = {name for d in drafts for name in d.tensors if name not in d.outputs}
        self._intermediates = frozenset(written & read)
        self._variables = {name: _NOTHING for draft in drafts for name in draft.variables}
        self._rank_sets: dict[str, _Sets] = {}
        self._shared = frozenset(name for name, number in Counter(uses).items() if number > 1)
        self._agreed: dict[str, tuple[Fraction, bool, EinsumDraft]] = {}
        where = document.where(("workload", "n_instances"))
        self._instances = whole_number(spec.n_instances, variables, where)

    def instances(self, draft: EinsumDraft) -> int:
        """Return how often an Einsum runs: its own `n_instances` times that of the workload.

        Raises WorkloadError if one of them is no whole number from 1 to 10**18.
        """
        where = self._document.where((*draft.path, "n_instances"))
        return self._instances * whole_number(draft.spec.n_instances, self._given, where)

    def of(self, draft: EinsumDraft) -> ResolvedNames:
        """Return what the names of an Einsum stand for: renames, persistent tensors, widths.

        Widths are in bits. Raises WorkloadError if a rename selects another number of tensors than
        expected, or others than the tensor of its name; if sets of widths overlap, a tensor has no
        width, or Einsums disagree about a tensor; SpecError for a width that is no positive number.
        """
        sets = self._basic(draft)
        renames = self._renamed_tensors(draft, sets)
        check_names_of_tensors(draft, sets, renames)
        sets |= renames
        self._rename_variables(draft, sets)
        persistent = self._persistent_tensors(draft, sets)
        sets["Persistent"] = persistent
        widths = self._bits(draft, sets)
        self._agree(draft, persistent, widths)
        integers = self._selected("integers", draft, sets)
        scope = self._scope(draft, sets, widths)
        return ResolvedNames(renames, persistent, integers, widths, scope)

    def _renamed_tensors(self, draft: EinsumDraft, sets: _Sets) -> _Sets:
        """Return the tensors of each rename; one may be an expression of others, in any order."""
        waiting = self._rename_specs(draft, "tensor_accesses")
        renames: _Sets = {}
        while waiting:
            unknown = {rename.name for rename, _ in waiting} - self._all(sets).keys()
            ready = [
                (rename, path)
                for rename, path in waiting
                if not (unknown - {rename.name}) & set(_WORD.findall(str(rename.source)))
            ]
            for rename, path in ready or waiting[:1]:  # of a circle, the first says what is missing
                renames[rename.name] = self._rename(rename, path, draft, {**sets, **renames})
            waiting = [item for item in waiting if item[0].name not in renames]
        return renames

    def _basic(self, draft: EinsumDraft) -> _Sets:
        tensor_names = frozenset(draft.tensors)
        sets = {name: frozenset({name}) for name in draft.tensors}
        for name, tensor in draft.repeated.items():
            sets[tensor] |= {name}
        sets |= {
            "All": tensor_names,
            "Tensors": tensor_names,
            "Nothing": _NOTHING,
            "Inputs": tensor_names - draft.outputs,
            "Outputs": draft.outputs,
            "Intermediates": tensor_names & self._intermediates,
            "Shared": tensor_names & self._shared,
            "Persistent": _NOTHING,
        }
        return sets

    def _all(self, sets: _Sets) -> Mapping[str, frozenset[str]]:
        """Return an Einsum's own sets, and an empty one for each tensor of the others.

        They share these: in a long chain there are thousands.
        """
        return Layer(sets, self._everything)

    def _rename_variables(self, draft: EinsumDraft, sets: _Sets) -> None:
        """Add the renames of rank variables to the Einsum's names, one after the other.

        WorkloadError if a name is already one of a tensor, a set or a rank variable.
        """
        rank_sets = self._rank_sets.setdefault(draft.name, {})
        for rename, path in self._rename_specs(draft, "rank_variables"):
            if rename.name in self._all(sets) or rename.name in self._variables:
                raise WorkloadError(
                    f"Einsum {draft.name}: {rename.name} is already the name of a tensor, a set or "
                    "a rank variable",
                    where=self._document.where(path),
                    value=rename.name,
                    instead="another name for this rename of rank variables",
                )
            rank_sets[rename.name] = self._rename(rename, path, draft, sets, rank_variable_set)

    def _rename_specs(self, draft: EinsumDraft, kind: _Kind) -> list[tuple[RenameSpec, DocPath]]:
        """Return the renames of an Einsum, in order, with their places in the file.

        A rename written in the Einsum replaces one of the section `renames`, which replaces a
        default one.
        """
        built_in = _BUILT_IN if kind == "tensor_accesses" else ()
        chosen: dict[str, tuple[RenameSpec, DocPath]] = {}
        default, path = self._renames.get("default", (None, ()))
        for rename in getattr(default, kind) if default else built_in:
            chosen[rename.name] = (rename, (*path, kind))
        entry, path = self._renames.get(draft.name, (None, ()))
        for rename in getattr(entry, kind) if entry else ():
            chosen[rename.name] = (rename, (*path, kind))
        if kind == "rank_variables":
            return list(chosen.values())
        by_name: dict[str, tuple[RenameSpec, DocPath]] = {
            rename.name: (rename, (*draft.path, "renames", rename.name))
            for rename in draft.spec.renames
        }
        # Renames written in the Einsum come first: the defaults are expressions of them.
        return [*by_name.values(), *(pair for name, pair in chosen.items() if name not in by_name)]

    def _rename(
        self,
        rename: RenameSpec,
        path: DocPath,
        draft: EinsumDraft,
        sets: _Sets,
        evaluate_set: Callable[..., frozenset[str]] = tensor_set,
    ) -> frozenset[str]:
        where = self._document.where(path) if len(path) > 1 else draft.where
        names = self._names(draft, sets)
        try:
            selected = evaluate_set(rename.source, names, where)
        except ExpressionError as error:
            raise WorkloadError(
                f"Einsum {draft.name}: rename {rename.name}: {error.what}",
                where=error.where or where,
                value=rename.source,
                instead=error.instead,
            ) from None
        if rename.expected_count is not None:
            expected_count = evaluate(rename.expected_count, names, where)
            if expected_count != len(selected):
                raise WorkloadError(
                    f"Einsum {draft.name}: rename {rename.name} stands for {len(selected)} names "
                    f"({', '.join(sorted(selected)) or 'none'}), "
                    f"but expected_count is {expected_count}",
                    where=draft.where,
                    value=rename.source,
                    instead=f"add renames: {{{rename.name}: …}} to this Einsum",
                )
        return selected

    def _persistent_tensors(self, draft: EinsumDraft, sets: _Sets) -> frozenset[str]:
        marked = {access.tensor for access, _, long in draft.accesses if long and long.persistent}
        return self._selected("persistent_tensors", draft, sets) | marked

    def _selected(self, field: str, draft: EinsumDraft, sets: _Sets) -> frozenset[str]:
        """Return the tensors of an Einsum that a set of the section `workload` selects."""
        source = getattr(self._spec, field)
        if source is None:
            return _NOTHING
        where = self._document.where(("workload", field))
        return tensor_set(source, self._names(draft, sets), where)

    def _bits(self, draft: EinsumDraft, sets: _Sets) -> dict[str, Fraction]:
        """Return the width of each tensor in bits: written in its access, else in a set with it.

        WorkloadError if two sets hold a tensor, or it has no width.
        """
        names = self._names(draft, sets)
        widths = self._widths_of_sets(draft, names, self._all(sets))
        for access, _, long in draft.accesses:
            if long is not None and long.bits_per_value is not None:
                widths[access.tensor] = _width(long.bits_per_value, names, draft.where)
        missing = [tensor for tensor in draft.tensors if tensor not in widths]
        if missing:
            raise WorkloadError(
                f"Einsum {draft.name}: tensor {missing[0]} has no bits_per_value",
                where=draft.where,
                instead="workload: {bits_per_value: {All: 8}}",
            )
        return widths

    def _widths_of_sets(
        self, draft: EinsumDraft, names: Mapping[str, object], of_any: Mapping[str, frozenset[str]]
    ) -> dict[str, Fraction]:
        """Return the widths that sets of tensors give; WorkloadError if two sets hold a tensor.

        `names`: of the Einsum; `of_any`: the sets of any Einsum.
        """
        widths: dict[str, Fraction] = {}
        chosen: dict[str, str] = {}
        for key, value in self._spec.bits_per_value.items():
            if key in of_any and not of_any[key]:
                continue  # a tensor of other Einsums, or a rename of nothing
            where = self._document.where(("workload", "bits_per_value", key))
            unspecified = frozenset(draft.tensors) - chosen.keys()
            for tensor in sorted(unspecified if key == "Other" else tensor_set(key, names, where)):
                if tensor in chosen:
                    raise WorkloadError(
                        f"bits_per_value: both {chosen[tensor]} and {key} hold tensor {tensor} of "
                        f"Einsum {draft.name}",
                        where=where,
                        instead="write sets that do not overlap",
                    )
                chosen[tensor] = key
                widths[tensor] = _width(value, names, where)
        return widths

    def _agree(
        self, draft: EinsumDraft, persistent: frozenset[str], widths: Mapping[str, Fraction]
    ) -> None:
        """Refuse an Einsum that says something else of a tensor than the first one with it."""
        for tensor in draft.tensors:
            given = (widths[tensor], tensor in persistent, draft)
            width, lasting, first = self._agreed.setdefault(tensor, given)
            if width != widths[tensor]:
                raise WorkloadError(
                    f"tensor {tensor} has {width} bits per value in Einsum {first.name}, but "
                    f"{widths[tensor]} in Einsum {draft.name}",
                    where=draft.where,
                    instead=f"make it agree with {first.where}",
                )
            if lasting != (tensor in persistent):
                persistent_draft, other_draft = (first, draft) if lasting else (draft, first)
                raise WorkloadError(
                    f"tensor {tensor} is persistent in Einsum {persistent_draft.name}, "
                    f"but not in Einsum {other_draft.name}",
                    where=draft.where,
                    instead=f"make it agree with {first.where}",
                )

    def _names(self, draft: EinsumDraft, sets: _Sets) -> Mapping[str, object]:
        return Layer(EinsumNames(self._scope(draft, sets, {})).all, self._given)

    def _scope(self, draft: EinsumDraft, sets: _Sets, widths: Mapping[str, Fraction]) -> Scope:
        variables = draft.variables
        return Scope(
            einsum=draft.name,
            tensors=draft.tensors,
            rank_variables=variables,
            sets=self._all(sets),
            rank_variables_of={
                access.tensor: frozenset(v for _, form in access.projection for v, _ in form.terms)
                for access, _, _ in draft.accesses
            },
            bits_per_value=widths,
            is_copy=draft.spec.is_copy_operation,
            rank_sets=Layer(
                self._rank_sets.get(draft.name, {}), Without(self._variables, frozenset(variables))
            ),
        )


def _check_format(value: object, names: Mapping[str, object], where: Where) -> None:
    """Raise SpecError for a unit that is not one of bits, and for a word that is no name."""
    unit = unit_of(value)
    if unit is not None and unit.dimension != "bits":
        raise SpecError(
            f"bits_per_value has no unit of {unit.dimension}",
            where=where,
            value=value,
            instead="for example 8, 8 bit or bf16",
        )
    if isinstance(value, str) and _WORD.fullmatch(value) and value not in names:
        raise SpecError(
            f"there is no number format {value}",
            where=where,
            value=value,
            instead=close_formats(value) or "a number of bits, or a format such as bf16 or int8",
        )


def _width(value: object, names: Mapping[str, object], where: Where) -> Fraction:
    bits = bits_of_format(value)
    if bits is not None:
        return bits
    _check_format(value, names, where)
    result = evaluate(value, names, where)
    if isinstance(result, bool) or not isinstance(result, int | float | Fraction):
        raise SpecError("bits_per_value must be a number", where=where, value=value)
    if not 0 < result < float("inf"):
        raise SpecError("bits_per_value must be above 0 and finite", where=where, value=value)
    return exact(result)
