"""Intermediate tensors that an Einsum reads before they are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.mapper.mapping.mapping import Spatial, Temporal
from tilewright.mapper.model.path import Path, Step
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.workload import Workload


def unfinished(paths: tuple[Path, ...], workload: Workload) -> tuple[str, ...]:
    """Return a note for each Einsum that reads partial sums of an earlier Einsum.

    The cause is a loop over a variable that the writer sums over, above the Sequential where the
    branches of writer and reader part: each turn adds a partial sum, and the reader runs in each
    turn. Such a mapping has costs, but does not compute the workload. `paths`: in order of
    execution.
    """
    readers: dict[str, list[int]] = {}
    for number, path in enumerate(paths):
        for tensor in dict.fromkeys(a.tensor for a in workload.einsum(path.einsum).inputs):
            readers.setdefault(tensor, []).append(number)
    notes: list[str] = []
    for number, writer in enumerate(paths):
        einsum = workload.einsum(writer.einsum)
        for access in einsum.outputs:
            for later in readers.get(access.tensor, ()):
                if later > number:
                    notes += _early(access, einsum, _shared(writer, paths[later]), paths[later])
    return tuple(notes)


def _early(
    access: TensorAccess, writer: Einsum, shared: tuple[Step, ...], reader: Path
) -> Iterator[str]:
    """Yield a note for each shared loop over a variable that the writer sums over."""
    for name in _turning(shared, writer.bounds):
        if name not in access.rank_variables:
            yield (
                f"Einsum {reader.einsum} reads {access.tensor} before Einsum {writer.name} "
                f"has completed it: both stand below a loop over {name}, which "
                f"{writer.name} sums over"
            )


def _shared(first_path: Path, second_path: Path) -> tuple[Step, ...]:
    """Return the steps above the Sequential at which two paths separate."""
    for split, second_split in zip(first_path.splits, second_path.splits, strict=False):
        if split.branch != second_split.branch:
            return first_path.steps[: split.position]
    return ()


def _turning(steps: tuple[Step, ...], bounds: Mapping[str, int]) -> Iterator[str]:
    """Yield the variables of loops that turn more than once, each once."""
    shape = dict(bounds)
    seen = set()
    for step in steps:
        if isinstance(step, Temporal | Spatial):
            turns = step.tile_shape < shape.get(step.rank_variable, 1)
            if turns and step.rank_variable not in seen:
                seen.add(step.rank_variable)
                yield step.rank_variable
            shape[step.rank_variable] = step.tile_shape
