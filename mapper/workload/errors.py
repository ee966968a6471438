"""Errors of workloads, mappings, and features that no search models."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, NamedTuple

from tilewright.arch.errors import SpecError, TilewrightError


class WorkloadError(SpecError):
    """A workload file contradicts itself or is not a list of Einsums.

    A SpecError: it carries the place in the file, the value, and what to write instead.
    """


class MappingError(SpecError):
    """A mapping does not belong to this workload and this architecture.

    For example it names an unknown tensor, or its loops do not reach a tile of 1. A SpecError,
    with the place in the mapping file if there is one.
    """

    category = "mapping"


class RefusalKind(StrEnum):
    """What refuses a mapping: too little memory, a rule, a missing instruction, or anything else.

    A rule is one of the architecture file (docs/files.md).
    """

    MEMORY = "memory"
    RULE = "rule"
    INSTRUCTION = "instruction"
    OTHER = "other"


class InfeasibleMapping(TilewrightError):  # noqa: N818 - a property of the mapping, not a fault
    """A mapping that the machine cannot run, or no mapping that it could.

    Its tiles overfill a memory, it uses more instances than exist, or it breaks a constraint. A
    study records the design with this reason and continues.
    """

    category = "infeasible"
    kind: ClassVar[RefusalKind] = RefusalKind.OTHER


class OverfilledMemory(InfeasibleMapping):
    """A mapping whose tiles do not fit a memory."""

    kind = RefusalKind.MEMORY


class ForbiddenMapping(InfeasibleMapping):
    """A mapping that breaks a rule of the architecture file (docs/files.md)."""

    kind = RefusalKind.RULE


class MissingInstruction(InfeasibleMapping):
    """A mapping of an Einsum whose operations the machine has no instructions for."""

    kind = RefusalKind.INSTRUCTION


class Refusal(NamedTuple):
    """Why a search leaves a mapping out: in words, and of which kind."""

    what: str
    kind: RefusalKind = RefusalKind.OTHER

    @staticmethod
    def of(error: TilewrightError) -> Refusal:
        """Return the refusal that an error says."""
        kind = error.kind if isinstance(error, InfeasibleMapping) else RefusalKind.OTHER
        return Refusal(error.what, kind)


class NoFeasibleMapping(InfeasibleMapping):
    """No mapping obeys all constraints of the architecture file and fits its memories.

    The text names the constraints that conflict and the changes that would help. The command line
    ends with exit code 3.
    """

    exit_code = 3


class UnsupportedFeature(TilewrightError):  # noqa: N818 - a limit of the search, not a fault
    """A feature of the files, or a request, that a search cannot handle exactly.

    It is refused instead of answered approximately; the text names another way.
    """
