"""Spare numba the work that does not go into a kernel's object file: half of its compilation.

A kernel is compiled for its object file alone (`arch/compiled.py`). Of each function that it calls
numba would also optimize the machine code, emit it, and write it to its own cache; and of these the
first once more in every function above. Here the functions that a kernel calls are linked into it
as they are, each once, and the whole is optimized once. Where numba inlines a function, it copies
all names of the function with each of its blocks, and the place in the source of every statement;
here the copies share them. After each of nine steps numba asks which names are in use where, which
its last step reads to drop references; without counts of references here nobody asks. It looks for
new declarations in all its modules whenever a type has no function yet; here only if there are any.
It asks LLVM for the size of a type by a module of its own; here once per type.

Methods of numba are replaced while a kernel is compiled; a numba that lacks one stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final, cast

from llvmlite import ir as llvm_ir
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import base, caching, codegen, compiler, cpu, event, ir, postproc, transforms

from tilewright.arch.lean.lean_lowering import lowering_changes

_LIBRARY: Final = cast(Any, codegen).CPUCodeLibrary
_CACHE: Final = cast(Any, caching).Cache
_TARGET: Final = cast(Any, cpu).CPUContext
_PROCESSOR: Final = cast(Any, postproc).PostProcessor
_VARIABLE: Final = cast(Any, ir).Var
_INSTRUCTION: Final = cast(Any, ir).Inst
_STATEMENT: Final = cast(Any, ir).Stmt
_compiler: Final[Any] = compiler
_LINKED: Final = "_get_module_for_linking"
"""A library's own method where its module is without the code of what it calls."""
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
        with _shared_in_copies("Scope"), _shared_in_copies("Loc"):
            yield
    finally:
        for home, name, method in kept:
            setattr(home, name, method)


@contextmanager
def _shared_in_copies(name: str) -> Iterator[None]:
    """Let copies of a block share the objects of one of numba's classes."""
    shared: Any = getattr(ir, name)
    shared.__deepcopy__ = lambda item, _: item
    try:
        yield
    finally:
        del shared.__deepcopy__


def _changes() -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return what is changed: class or module of numba, name of its function, the new one."""
    compile_one, finish, executable = (
        _compiler.compile_extra,
        _LIBRARY.finalize,
        _TARGET.get_executable,
    )
    # An item per function that is being compiled, the kernel first: whether it counts references.
    running: list[bool] = []

    def compile_extra(*arguments: Any, **options: Any) -> Any:
        running.append("flags" not in options or bool(options["flags"].nrt))
        try:
            return compile_one(*arguments, **options)
        finally:
            running.pop()

    def finalize(library: Any) -> None:
        if len(running) < 2 or _python_calls(library):
            _link_parts(library)
            called, library._linking_libraries = library._linking_libraries, []
            finish(library)
            library._linking_libraries = called
        else:
            library._finalized = True
            setattr(library, _LINKED, partial(_linked, library))

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
        (_TARGET, "refresh", _refresh_if_new(_TARGET.refresh)),
        (event, "broadcast", _nothing),
        (_PROCESSOR, "run", _without_live_names(_PROCESSOR.run, running)),
        (_TARGET, "get_abi_sizeof", _once_per_type(_TARGET.get_abi_sizeof)),
        (_STATEMENT, "list_vars", lambda statement: _variables((vars(statement),), [])),
        (_INSTRUCTION, "_rec_list_vars", lambda _, value: _variables((value,), [])),
        (_LIBRARY, "finalize", finalize),
        (_LIBRARY, "_optimize_final_module", _optimize_once),
        (_LIBRARY, "_optimize_functions", _set_layout),
        (_TARGET, "get_executable", get_executable),
        (base, "_has_loc", cache(cast(Any, base)._has_loc)),
        *lowering_changes(),
        (_CACHE, "load_overload", _nothing),
        (_CACHE, "save_overload", _nothing),
        (_CACHE, "flush", _nothing),
    ]


def _refresh_if_new(refresh: Callable[..., None]) -> Callable[..., None]:
    """Return numba's search for new declarations, done only if there may be some.

    There may be if a module was imported, or if a registry that numba knows has grown: the first
    `min` of two types adds a function to one while a kernel is compiled.
    """
    seen: dict[int, tuple[Any, ...]] = {}  # kept with the registries: an id may be used again

    def refresh_if_new(target: Any) -> None:
        registries = target._registries  # shared by all copies of a target
        if seen.get(id(registries)) != (registries, *_declarations(target)):
            refresh(target)
            seen[id(registries)] = (registries, *_declarations(target))

    return refresh_if_new


def _declarations(target: Any) -> tuple[int, int]:
    """Return how many modules are imported, and how many declarations numba's registries have."""
    registries = (*target._registries, *target.typing_context._registries)
    items = (item for registry in registries for item in vars(registry).values())
    return len(sys.modules), sum(len(item) for item in items if isinstance(item, list))


def _link_parts(library: Any) -> None:
    """Link all that a library calls into its module, each function once."""
    parts: dict[Any, None] = {}  # the called before callers

    def add(calling: Any) -> None:
        for part in reversed(calling._linking_libraries):
            if part not in parts:
                if _LINKED in vars(part):
                    add(part)
                parts[part] = None

    add(library)
    for part in reversed(parts):  # what nothing refers to is not linked
        library._reload_init.update(part._reload_init)
        library._final_module.link_in(getattr(_LIBRARY, _LINKED)(part), preserve=True)


def _linked(library: Any) -> Any:
    """Return the module of a library with all that it calls: numba links it outside of a kernel."""
    delattr(library, _LINKED)
    _link_parts(library)
    library._shared_module = None
    return getattr(library, _LINKED)()


def _once_per_type(size: Callable[..., int]) -> Callable[..., int]:
    """Return numba's question for the bytes of a type, asked once per type."""
    sizes: dict[str, int] = {}

    def size_once(target: Any, kind: llvm_ir.Type) -> int:
        text = str(kind)
        if text not in sizes or "%" in text:  # of a name the meaning may differ
            sizes[text] = size(target, kind)
        return sizes[text]

    return size_once


def _without_live_names(run: Callable[..., None], running: Sequence[bool]) -> Callable[..., None]:
    """Return a method that makes a function's blocks canonical without computing live names.

    Only generators and code for Python's own objects need them. Where names end matters if
    references are counted, as the last of `running` says. It is computed when it is asked for: by
    the last step, which marks it.
    """

    def run_lean(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = processor.func_ir
        if function.is_generator:
            run(processor, emit_dels, extend_lifetimes)
            return
        function.blocks = cast(Any, transforms).canonicalize_cfg(function.blocks)
        function.variable_lifetime = cast(Any, postproc).VariableLifetime(function.blocks)
        function.generator_info = None
        if emit_dels and (not running or running[-1]):
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return run_lean


def _variables(values: Iterable[Any], result: list[Any]) -> list[Any]:
    """Append the variables in some fields of a statement to a list, in order, and return it."""
    for value in values:
        if isinstance(value, _VARIABLE):
            result.append(value)
        elif isinstance(value, _INSTRUCTION):
            result.extend(value.list_vars())
        elif isinstance(value, (list, tuple)):
            _variables(value, result)
        elif isinstance(value, dict):
            _variables(value.values(), result)
    return result


def _python_calls(library: Any) -> bool:
    """Return whether a function's code has a part by which Python can call it."""
    functions = library._final_module.functions
    return any(compiled.name.startswith(PYTHON_WRAPPER) for compiled in functions)


def _optimize_once(library: Any) -> None:
    """Optimize a whole kernel; numba does it twice, as code with reference counts needs."""
    passes, builder = library._codegen._module_pass_manager()
    passes.run(library._final_module, builder)


def _set_layout(library: Any, module: Any) -> None:
    """Set the data layout of a function's code, which is optimized with the kernel."""
    module.data_layout = library._codegen._data_layout


def _nothing(*_: Any) -> None:
    """Do nothing: takes the place of numba's cache and of its notices of events."""
