"""Public names of a package that are imported only when somebody asks for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

Lazy = tuple[Callable[[str], object], Callable[[], list[str]]]


def lazily(package: str, homes: Mapping[str, str]) -> Lazy:
    """Return a module's `__getattr__` and `__dir__` (PEP 562) that import names when asked for.

    `package`: the module's name; `homes`: for each name the module that defines it. Start-up stays
    short: numpy, numba, networkx and pydantic load with the first name that needs them. No name may
    be that of a submodule: importing the submodule would hide it. The first raises AttributeError
    for a name that is not in `homes`; the second lists them and the submodules imported so far.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        prefix = f"{package}."
        inner = {name.removeprefix(prefix) for name in sys.modules if name.startswith(prefix)}
        return sorted({*homes, *(name for name in inner if "." not in name)})

    return find, names
