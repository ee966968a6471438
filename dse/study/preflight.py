"""Check a study's files and knobs before the first trial: a typo is no infeasible design."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from functools import partial
from pathlib import Path

from tilewright.arch.errors import SpecError, placed
from tilewright.arch.names import did_you_mean
from tilewright.dse.command.settings import check_used, ranks_of
from tilewright.dse.models.evaluators import LAYOUT_MODELS, choices_type
from tilewright.dse.models.inputs import architecture, knobs, layout_machine, workload
from tilewright.dse.study.design_space import Dimension
from tilewright.dse.study.study import StudyInput, StudySpec

_RANK_SIZES = "rank_sizes."


def preflight(spec: StudySpec) -> None:
    """Check a study before its first trial: load its files and try each knob's first value.

    Raises SpecError (or another TilewrightError) for a knob, machine or choice of a mapping that
    does not exist.
    """
    first = {d.path: d.values[0] for d in spec.space.dimensions}
    hardware = layout_machine if spec.model in LAYOUT_MODELS else architecture
    hardware(spec.arch, {})
    _check_hardware_knobs(spec)
    if spec.model in LAYOUT_MODELS:
        _check_layout_machine(spec)
    if spec.model == "simulated":
        _check_machine(spec)
    _check_workload_knobs(spec)
    works = [workload(source, first) for source in spec.workloads]
    _check_mapping_knobs(spec, [einsum.name for work in works for einsum in work.einsums])
    _check_mapper(spec)
    if spec.sampler_options:
        from tilewright.dse.sampling.samplers import make_sampler
        from tilewright.dse.study.sampler import sampler_settings

        make_sampler(sampler_settings(spec), spec.space).propose(0, 0, 1)


def _check_hardware_knobs(spec: StudySpec) -> None:
    """Check that the hardware has its knobs and takes the first value of each."""
    hardware = layout_machine if spec.model in LAYOUT_MODELS else architecture
    for dimension in spec.space.dimensions:
        if dimension.path.startswith("arch."):
            with _at_knob(dimension):
                hardware(spec.arch, {dimension.path: dimension.values[0]})


def _check_workload_knobs(spec: StudySpec) -> None:
    """Check that a workload has each variable and rank that is a knob, or nothing would change."""
    for dimension in spec.space.dimensions:
        if not dimension.path.startswith("workload."):
            continue
        name = dimension.path.removeprefix("workload.")
        changed = [each for each in spec.workloads if each.knobs_of_workload({name: 0})]
        name = next(iter(changed[0].knobs_of_workload({name: 0})))
        with _at_knob(dimension):
            if name.startswith(_RANK_SIZES):
                _check_rank(name.removeprefix(_RANK_SIZES), changed)
            elif "." not in name:
                check_used({name: dimension.values[0]}, [Path(each.file) for each in changed])


def _check_rank(name: str, changed: Sequence[StudyInput]) -> None:
    ranks = {rank for each in changed for rank in ranks_of([Path(each.file)], each.variables)}
    if name not in ranks:
        raise SpecError(
            "no workload here has a rank of that name",
            value=name,
            instead=did_you_mean(name, ranks) or None,
        )


def _check_layout_machine(spec: StudySpec) -> None:
    """Check that the machine has what the model of a layout study asks."""
    machine = layout_machine(spec.arch, {})
    if spec.model == "grid_matmul":
        from tilewright.mapper.layout.costs.gemm_time import check_gemm_machine

        check_gemm_machine(machine)
    else:
        from tilewright.mapper.layout.costs.blocked_matmul_time import check_blocked_machine

        check_blocked_machine(machine)


def _check_machine(spec: StudySpec) -> None:
    from tilewright.simulator.profiles.profile import load_profile

    profile = load_profile(spec.machine)
    for dimension in spec.space.dimensions:
        if dimension.path.startswith("machine."):
            with _at_knob(dimension):
                profile.with_values({dimension.path.removeprefix("machine."): dimension.values[0]})


def _check_mapper(spec: StudySpec) -> None:
    """Check the options of the search of mappings, and the knobs among them."""
    if spec.model != "analytical":
        return
    from tilewright.mapper.searches.request import check_options

    first = {d.path: d.values[0] for d in spec.space.dimensions}
    architecture(spec.arch, first)
    works = [workload(source, first) for source in spec.workloads]
    for work in works:  # before the knobs, which would be blamed for what is wrong in the workload
        check_options(work, spec.mapper)
    for dimension in spec.space.dimensions:
        if dimension.path.startswith("mapper."):
            with _at_knob(dimension):
                for value in dimension.values:
                    options = {**spec.mapper, **knobs({dimension.path: value}, "mapper.")}
                    for work in works:
                        check_options(work, options)
    for work in works:
        check_options(work, {**spec.mapper, **knobs(first, "mapper.")})


def _check_mapping_knobs(spec: StudySpec, einsums: list[str]) -> None:
    kind = choices_type(spec.model)
    if kind is None:
        return
    choices = [field.name for field in fields(kind)]
    for dimension in spec.space.dimensions:
        path = dimension.path
        if not path.startswith("mapping."):
            continue
        _, einsum, choice = path.split(".", 2)
        if choice not in choices:
            raise SpecError(
                f"the knob {path} names no choice of a mapping",
                where=dimension.where,
                value=choice,
                instead=did_you_mean(choice, choices) or None,
            )
        _check_values(dimension, choice, kind)
        if einsum not in ("*", *einsums):
            raise SpecError(
                f"the knob {path} names no Einsum of the workload",
                where=dimension.where,
                value=einsum,
                instead=did_you_mean(einsum, einsums) or None,
            )


def _check_values(dimension: Dimension, choice: str, kind: type) -> None:
    from tilewright.dse.study.kernel_choices import choices_of

    check = getattr(kind, "of", partial(choices_of, kind))  # constraints of a grid check themselves
    for value in dimension.values:
        text = value if isinstance(value, int | str) else str(value)
        with _at_knob(dimension):
            check({choice: text})


def _at_knob(dimension: Dimension) -> AbstractContextManager[None]:
    """Let errors name a knob and its line in the study."""
    return placed(dimension.where, f"the knob {dimension.path}")
