"""Say which costs a score leaves out because the architecture file does not state them."""

from __future__ import annotations

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import ComponentSpec, TollSpec
from tilewright.mapper.mapping.score import Score

_COSTS = ("area", "leak_power")
UNTIMED = "latency is not modelled: no action of these components takes time"


def uncounted(arch: Arch, score: Score) -> tuple[str, ...]:
    """Return a sentence for costs that count as 0 because they are missing, and for no time at all.

    A cost is missing if it is neither written nor estimated. Energies and throughputs cannot be:
    without them an architecture is refused.
    """
    missing = [f"{name} of {', '.join(names)}" for name, names in _missing(arch).items() if names]
    sentences = [f"counted as 0, because the file does not say it: {'; '.join(missing)}"]
    return (*(sentences if missing else ()), *(() if score.is_timed else (UNTIMED,)))


def idle_tolls(arch: Arch, score: Score) -> tuple[str, ...]:
    """Return a sentence for each Toll that charges nothing, for no tensor passes it.

    A mapping may leave a Toll out for every tensor that its `keep` does not name.
    """
    charged = {key.split("/")[1] for key, count in score.actions.items() if count}
    return tuple(
        f"the Toll {node.name} charges nothing, for the mapping leaves it out where it may: "
        "`tensors: {keep: All}` there lets no tensor go by"
        for node in arch.leaves()
        if isinstance(node.spec, TollSpec)
        and node.spec.enabled is True
        and node.name not in charged
    )


def _missing(arch: Arch) -> dict[str, list[str]]:
    """Return, by field of a cost (such as area), the components that lack it, in file order."""
    missing: dict[str, list[str]] = {name: [] for name in _COSTS}
    for node in arch.leaves():
        spec = node.spec
        if not isinstance(spec, ComponentSpec) or arch.estimators:
            continue
        if not (spec.component_class or spec.component_model):
            for name in (name for name in _COSTS if getattr(spec, name) is None):
                missing[name].append(node.name)
    return missing
