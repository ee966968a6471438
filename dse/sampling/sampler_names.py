"""The names of samplers, and checks of what each of them needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.names import did_you_mean

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

SEQUENCES = ("random", "grid", "exhaustive", "qmc")
OPTUNA_CLASSES: Mapping[str, str] = {
    "nsga2": "NSGAIISampler",
    "nsga3": "NSGAIIISampler",
    "tpe": "TPESampler",
    "cmaes": "CmaEsSampler",
    "gp": "GPSampler",
}
GUIDED = "bottleneck"
NAMES = (*SEQUENCES, *OPTUNA_CLASSES, GUIDED)
_PACKAGES: Mapping[str, tuple[str, str]] = {
    "cmaes": ("cmaes", "samplers"),
    "gp": ("torch", "gp"),
}
"""By sampler: the package that it needs, and the extra of Tilewright that has it."""
_SPELLINGS: Mapping[str, str] = {  # by lower-case letters and digits alone
    **{name: name for name in NAMES},
    "nsgaii": "nsga2",
    "nsgaiii": "nsga3",
    "quasirandom": "qmc",
    "sobol": "qmc",
    "bayesian": "gp",
    "gaussianprocess": "gp",
}
_WORDS = re.compile(r"[\W_]+|sampler$")
_ONE_OBJECTIVE = ("cmaes",)


def check_sampler(name: str, objectives: int, where: Where | None = None) -> None:
    """Check that there is a sampler of that name, and that it takes so many objectives.

    Raises SpecError, at `where`, for an unknown name, a package that is not installed, or several
    objectives for a sampler of one.
    """
    if "." in name:
        _check_class(name, objectives, where)
        return
    if name not in NAMES:
        raise SpecError(
            "there is no sampler of that name",
            where=where,
            value=name,
            instead=did_you_mean(_SPELLINGS.get(_WORDS.sub("", name.lower()), name), NAMES)
            or f"one of {', '.join(NAMES)}, or an import path such as optuna.samplers.QMCSampler",
        )
    _check_needs(name, name, objectives, where)


def _check_class(path: str, objectives: int, where: Where | None) -> None:
    """Check a sampler that is named by its import path; one of Optuna's as by its short name."""
    kind = sampler_class(path, where)
    if kind.__module__.partition(".")[0] == "optuna":
        shorts = {name: short for short, name in OPTUNA_CLASSES.items()}
        _check_needs(path, shorts.get(kind.__name__, ""), objectives, where)


def _check_needs(name: str, short: str, objectives: int, where: Where | None) -> None:
    package, extra = _PACKAGES.get(short, ("", ""))
    if package and find_spec(package) is None:
        raise SpecError(
            f"the sampler {name} needs the package {package}, which is not installed",
            where=where,
            instead=f"pip install {package}, or 'tilewright[{extra}]', which has it",
        )
    if short in _ONE_OBJECTIVE and objectives > 1:
        raise SpecError(
            f"the sampler {name} takes one objective",
            where=where,
            value=f"{objectives} objectives",
            instead="nsga2 or nsga3, or one objective such as energy * latency",
        )


def sampler_class(path: str, where: Where | None = None) -> type[BaseSampler]:
    """Return the sampler class of Optuna's kind that an import path names.

    Raises SpecError, at `where`, if it cannot be imported or is none.
    """
    from optuna.samplers import BaseSampler

    module, _, name = path.rpartition(".")
    try:
        imported: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SpecError(
            f"cannot import the sampler: {error}",
            where=where,
            value=path,
            instead="MODULE.CLASS; PYTHONPATH=FOLDER before the command finds modules in FOLDER",
        ) from None
    if not isinstance(imported, type) or not issubclass(imported, BaseSampler):
        raise SpecError(
            "this is no sampler of Optuna's kind",
            where=where,
            value=path,
            instead="a class derived from optuna.samplers.BaseSampler",
        )
    return imported
