"""Compile a kernel with all that it calls as one piece of machine code, in two thirds of the time.

numba optimises every function that a kernel calls, and makes machine code of it, before it puts the
function into its callers, where all of that is done again. While `as_a_whole` holds, functions
below the kernel are handed on as they are; LLVM sees the kernel whole and optimises it once. The
functions have no machine code of their own then: Python could not call them, so numba forgets them
when the kernel is done. It gets them back for the next kernel.

numba's own answers to the same question of types are also kept for numbers: it asks some twenty
templates for each `a + b`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, cast
from unittest.mock import patch

from numba.core import caching, codegen, cpu, event, types
from numba.core.types import functions

_types: Any = types
_NUMBERS: Final = (_types.Integer, _types.Float, _types.Boolean, _types.IntegerLiteral)
_PARTS: Final[dict[Any, dict[Any, Any]]] = {}
"""What numba knows of the functions that were compiled without machine code, by dispatcher."""
_TYPES: Final[dict[Any, Any]] = {}


@contextmanager
def as_a_whole(name: str) -> Iterator[None]:
    """Compile one kernel as a whole inside the context; `name` is that of its function.

    A function of the same name below the kernel is compiled the usual way.
    """
    compiled = _CompiledFunctions()
    with ExitStack() as stack:
        for dispatcher, overloads in _PARTS.items():
            dispatcher.overloads.update(overloads)
        for home, attribute, replacement in _replacements(name):
            stack.enter_context(patch.object(home, attribute, replacement))
        stack.enter_context(cast(Any, event).install_listener("numba:compile", compiled))
        try:
            yield
        finally:
            for dispatcher in {*compiled.dispatchers, *_PARTS}:
                _forget_parts(dispatcher)


class _CompiledFunctions(event.Listener):  # type: ignore[misc] # numba has no annotations
    """Collects the dispatchers that compile something."""

    def __init__(self) -> None:
        self.dispatchers: set[Any] = set()

    def on_start(self, event: Any) -> None:
        self.dispatchers.add(event.data["dispatcher"])

    def on_end(self, event: Any) -> None:
        pass


def _forget_parts(dispatcher: Any) -> None:
    """Keep the overloads without machine code apart; leave the others to the dispatcher."""
    overloads = dict(dispatcher.overloads)
    parts = {args: code for args, code in overloads.items() if _is_part(code.library)}
    if not parts:
        return
    _PARTS[dispatcher] = parts
    dispatcher.overloads.clear()
    dispatcher._reset_overloads()
    for args, code in overloads.items():
        if args not in parts:
            dispatcher.add_overload(code)


def _is_part(library: Any) -> bool:
    return bool(getattr(library, "_is_part", not library._finalized))


def _replacements(name: str) -> list[tuple[Any, str, Any]]:
    """Return (class, method, replacement) of numba's methods for the time of a compilation."""
    library: Any = cast(Any, codegen).JITCodeLibrary
    optimise, finish = library._optimize_final_module, library._finalize_final_module
    executable = cast(Any, cpu).CPUContext.get_executable
    save = cast(Any, caching).Cache.save_overload
    answer = cast(Any, functions).BaseFunction.get_call_type

    def optimise_kernel(self: Any) -> None:
        if self.name == name:
            optimise(self)

    def finish_kernel(self: Any) -> None:
        if self.name == name:
            finish(self)
            return
        self._finalize_dynamic_globals()
        self._finalized = self._is_part = True

    def executable_of(self: Any, code: Any, *rest: Any) -> Any:
        if code.name == name:
            return executable(self, code, *rest)
        return [code].count  # numba's tables need an object of its own for each; nobody calls it

    def save_kernel(self: Any, arguments: Any, code: Any) -> None:
        if code.library.name == name:
            save(self, arguments, code)

    def type_of_call(self: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or not all(isinstance(argument, _NUMBERS) for argument in arguments):
            return answer(self, context, arguments, keywords)
        key = (self, arguments)
        if key not in _TYPES:
            _TYPES[key] = answer(self, context, arguments, keywords)
        return _TYPES[key]

    return [
        (library, "_optimize_final_module", optimise_kernel),
        (library, "_finalize_final_module", finish_kernel),
        (cast(Any, cpu).CPUContext, "get_executable", executable_of),
        (cast(Any, caching).Cache, "save_overload", save_kernel),
        (cast(Any, functions).BaseFunction, "get_call_type", type_of_call),
    ]
