"""Public names of a package that are imported only when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a module's `__getattr__` (PEP 562) that imports public names only when asked for.

    `package`: the module's name; `homes`: for each name the module that defines it. Start-up stays
    short: numpy, numba, networkx and pydantic load with the first name that needs them. No name may
    be that of a submodule: importing the submodule would hide it. It raises AttributeError for a
    name that is not in `homes`.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find
