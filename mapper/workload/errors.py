"""Errors of workloads, mappings, and features that no search models."""

from tilewright.arch.errors import SpecError, TilewrightError


class WorkloadError(SpecError):
    """A workload contradicts itself or is not a list of Einsums."""


class MappingError(SpecError):
    """A mapping does not belong to this workload and this architecture."""


class InfeasibleMapping(TilewrightError):  # noqa: N818 - a property of the mapping, not a fault
    """A mapping that the machine cannot run: too large for it, or against a constraint.

    A study records the design with this reason and continues.
    """


class NoFeasibleMapping(InfeasibleMapping):
    """An empty mapspace, with the constraints that conflict and the changes that would help."""

    exit_code = 3


class UnsupportedFeature(TilewrightError):  # noqa: N818 - a limit of the search, not a fault
    """A feature of the files that a search cannot handle exactly; the text names another."""
