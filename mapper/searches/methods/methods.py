"""The ways to search a mapspace, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING

from tilewright.arch.errors import TilewrightError
from tilewright.arch.names import did_you_mean

if TYPE_CHECKING:
    from tilewright.mapper.searches.result import MapspaceSearch

_WHERE = {
    "exhaustive": ("exhaustive", "ExhaustiveSearch"),
    "random": ("random_search", "RandomSearch"),
    "annealing": ("annealing", "AnnealingSearch"),
    "optuna": ("optuna_search", "OptunaSearch"),
}
METHODS = ("exact", *_WHERE)


def method_called(name: str, seed: int = 0, memory: float = inf) -> MapspaceSearch | None:
    """Return the search method of this name; None for "exact", which is the default.

    Names: exhaustive, random, annealing, optuna. `seed`: of the random numbers. `memory`: bytes of
    the process before which it ends. Raises TilewrightError, with close names, for any other name.
    """
    if name == "exact":
        return None
    if name not in _WHERE:
        raise TilewrightError(
            "there is no such method of search",
            value=name,
            instead=did_you_mean(name, METHODS) or "one of: " + ", ".join(METHODS),
        )
    module, kind = _WHERE[name]
    make: Callable[..., MapspaceSearch] = getattr(
        import_module(f"tilewright.mapper.searches.methods.{module}"), kind
    )
    return make(memory=memory) if name == "exhaustive" else make(seed=seed, memory=memory)
