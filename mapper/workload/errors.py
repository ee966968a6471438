"""What can be wrong with a workload or a mapping."""

from tilewright.arch.errors import SpecError, TilewrightError


class WorkloadError(SpecError):
    """A workload contradicts itself or asks for what no Einsum can mean."""


class MappingError(SpecError):
    """A mapping is not a mapping of this workload on this architecture."""


class InfeasibleMapping(TilewrightError):  # noqa: N818 - a property of the mapping, not a fault
    """A well-formed mapping that the machine cannot run: too large, or against a constraint.

    A study records the candidate with this reason and goes on.
    """


class NoFeasibleMapping(InfeasibleMapping):
    """A mapspace without any mapping, with the constraints that conflict and what would help."""

    exit_code = 3
