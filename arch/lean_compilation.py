"""Spare numba the work that does not go into a kernel's object file: a third of its compilation.

A kernel is compiled for its object file alone (`arch/compiled.py`). Of each function that it calls
numba would also optimize the machine code, emit it, and write it to its own cache; and of these the
first once more in every function above. Here the functions that a kernel calls are linked as they
are, and the whole is optimized once. Where numba inlines a function, it copies all names of the
function with each of its blocks; here the copies share them.

Methods of numba are replaced while a kernel is compiled; a numba that lacks one stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import caching, codegen, compiler, cpu, ir

_LIBRARY: Final = cast(Any, codegen).CPUCodeLibrary
_CACHE: Final = cast(Any, caching).Cache
_TARGET: Final = cast(Any, cpu).CPUContext
_compiler: Final[Any] = compiler
PYTHON_WRAPPER: Final = "_ZN7cpython"
"""How numba's names of functions begin that Python calls."""


@contextmanager
def object_file_only() -> Iterator[None]:
    """Compile each kernel inside the context for its object file alone.

    A function that was compiled as a part of a kernel has none: `recompile` makes it. Parts that
    Python may call are compiled as always.
    """
    kept = []
    changes = _changes()
    known = all(hasattr(home, name) for home, name, _ in changes)
    try:
        for home, name, changed in changes if known else ():
            kept.append((home, name, getattr(home, name)))
            setattr(home, name, changed)
        with _shared_names():
            yield
    finally:
        for home, name, method in kept:
            setattr(home, name, method)


@contextmanager
def _shared_names() -> Iterator[None]:
    """Let copies of a block share the names of its function."""
    scope: Any = cast(Any, ir).Scope
    scope.__deepcopy__ = lambda names, _: names
    try:
        yield
    finally:
        del scope.__deepcopy__


def _changes() -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return what is changed: class or module of numba, name of its function, the new one."""
    compile_one, finish, executable = (
        _compiler.compile_extra,
        _LIBRARY.finalize,
        _TARGET.get_executable,
    )
    running: list[None] = []  # an item per function that is being compiled; the first is the kernel

    def compile_extra(*arguments: Any, **options: Any) -> Any:
        running.append(None)
        try:
            return compile_one(*arguments, **options)
        finally:
            running.pop()

    def finalize(library: Any) -> None:
        if len(running) < 2 or _python_calls(library):
            finish(library)
            return
        for part in dict.fromkeys(library._linking_libraries):
            library._reload_init.update(part._reload_init)
            library._final_module.link_in(part._get_module_for_linking(), preserve=True)
        library._finalized = True

    def get_executable(target: Any, library: Any, described: Any, environment: Any) -> Any:
        wrapper = described.llvm_cpython_wrapper_name
        library._ensure_finalized()
        if len(running) < 2 or library.codegen._engine.is_symbol_defined(wrapper):
            return executable(target, library, described, environment)
        name = described.qualname.rpartition(".")[2]
        home = described.lookup_module()
        return cast(Any, _dynfunc).make_function(home, name, "", 0, environment, (library,))

    return [
        (_compiler, "compile_extra", compile_extra),
        (_LIBRARY, "finalize", finalize),
        (_LIBRARY, "_optimize_final_module", _optimize_once),
        (_LIBRARY, "_optimize_functions", _set_layout),
        (_TARGET, "get_executable", get_executable),
        (_CACHE, "load_overload", _no_cache),
        (_CACHE, "save_overload", _no_cache),
        (_CACHE, "flush", _no_cache),
    ]


def _python_calls(library: Any) -> bool:
    """Return whether a function's code has a part by which Python can call it."""
    functions = library._final_module.functions
    return any(one.name.startswith(PYTHON_WRAPPER) for one in functions)


def _optimize_once(library: Any) -> None:
    """Optimize a whole kernel; numba does it twice, as code with reference counts needs."""
    passes, builder = library._codegen._module_pass_manager()
    passes.run(library._final_module, builder)


def _set_layout(library: Any, module: Any) -> None:
    """Set the data layout of a function's code, which is optimized with the kernel."""
    module.data_layout = library._codegen._data_layout


def _no_cache(*_: Any) -> None:
    """Neither read nor write numba's own cache."""
