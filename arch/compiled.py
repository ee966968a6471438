"""Call kernels whose machine code is kept on disk; numba is imported only to compile them.

A kernel is a function that numba compiles, in a module that imports numba. A caller declares it
here with its signature. The module is imported only if no stored machine code matches its source,
this processor and the installed numba. Importing numba and loading one function from its own cache
takes 0.3 s, loading the stored machine code 0.03 s (docs/decisions/0008).

Machine code is called by numba's calling convention: the addresses of result and error, then the
arguments, an array as (null, null, size, item size, address, shape…, strides…). The compilation of
a kernel checks that numba still uses this convention; code that needs numba at run time is called
through numba.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

import numpy as np

from tilewright.arch.kept_code import CodeFile, ObjectCode

_SCALARS: Final[dict[str, tuple[Any, str]]] = {
    "int64": (ctypes.c_int64, "i64"),
    "float64": (ctypes.c_double, "double"),
    "uint32": (ctypes.c_uint32, "i32"),
    "uint8": (ctypes.c_uint8, "i8"),
    "bool": (ctypes.c_bool, "i8"),
}
OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000
"""How many objects are made between two looks for garbage, in rare_collections; else 700."""
_ANY_BYTES: Final = ctypes.c_char * 0
_TYPE: Final = re.compile(r"(?:UniTuple\()?(\w+)(?:(\[[:, ]*::1\])|, (\d+)\))?(?:, |$)")
_NAME: Final = re.compile(r"\w+")
_HELPERS: Final = re.compile(rb"\0_?(?:numba_|NRT_|_?Py[A-Z])")


class Parameter(NamedTuple):
    """A parameter of a compiled kernel: a number, or a C-contiguous array.

    `kind`: numba's name of the scalar type (int64, float64, uint32, uint8 or bool); `dims`: number
    of dimensions of the array, 0 for a number.
    """

    kind: str
    dims: int

    @property
    def dtype(self) -> Any:
        """The numpy type of the array's items; None for a number."""
        return np.dtype(self.kind) if self.dims else None

    def words(self) -> tuple[list[Any], list[str]]:
        """Return the types of the parameter's machine words, as (ctypes types, names in LLVM).

        A number is one word. An array of d dimensions is 5 + 2 d words: two null pointers, number
        of items, bytes per item, address, d extents, d strides in bytes.
        """
        word_type, llvm_type = _SCALARS[self.kind]
        if not self.dims:
            return [word_type], [llvm_type]
        address, size = ctypes.c_void_p, ctypes.c_int64
        shape = 2 * self.dims
        return (
            [address, address, size, size, address, *[size] * shape],
            ["i8*", "i8*", "i64", "i64", f"{llvm_type}*", *["i64"] * shape],
        )


class Kernel:
    """The compiled function `name` of the module `home`, for one signature in numba's notation.

    Example: `Kernel("package.kernels", "add", "void(float64[:, ::1], int64)")`. Arguments are
    numbers, C-contiguous arrays, tuples of numbers, or named tuples of both: `records` maps the
    name of such a class in the module to the types of its fields. The result is void or a number.
    `sources`: files beside the module's own on which the machine code depends (`CodeFile`).
    """

    is_long = False
    """Whether other threads go on while it runs."""

    def __init__(
        self,
        home: str,
        name: str,
        signature: str,
        sources: Sequence[str] = (),
        records: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.name = name
        self.records = dict(records or {})
        self.signature_text = signature
        self.identity = home, name, signature
        self.result, _, self.arguments = signature[:-1].partition("(")
        fields = _NAME.sub(lambda match: self.records.get(match[0], match[0]), self.arguments)
        self.signature = f"{self.result}({fields})"
        self.file = CodeFile(home, name, self.signature, tuple(sources))
        self.parameters = [
            Parameter(kind, dims.count(",") + 1 if dims else 0)
            for kind, dims, times in _TYPE.findall(fields)
            for _ in range(int(times or 1))
        ]
        self._function: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel.

        TypeError: an array has another type, number of dimensions or memory order than the
        signature; RuntimeError: the kernel itself raised an exception.
        """
        if self._function is None:
            self._function = _function(self)
        return self._function(*arguments)

    @property
    def is_loaded(self) -> bool:
        """Whether the machine code is at hand: the kernel was loaded or called in this process."""
        return self._function is not None

    def load(self) -> None:
        """Have the machine code at hand for the first call; compile it if need be."""
        if self._function is None:
            self._function = _function(self)

    def address(self) -> int | None:
        """Return the address of the kernel's machine code in this process; compile it if need be.

        None if the code cannot run without numba, or if the environment has NUMBA_DISABLE_JIT=1.
        """
        if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
            return None
        code = self.file.read() or _compiled_once(self)
        return _loaded(code) if code.body else None

    def python(self) -> Any:
        """Return the function as its module defines it: numba's dispatcher.

        With NUMBA_DISABLE_JIT=1 in the environment it is a plain Python function.
        """
        return getattr(import_module(self.home), self.name)

    def word_types(self) -> list[Any]:
        """Return the ctypes types of all machine words of the arguments, in order."""
        return [word for parameter in self.parameters for word in parameter.words()[0]]


class LongKernel(Kernel):
    """A kernel that runs for long: other Python threads run meanwhile.

    They must not touch its arrays, but for one whose purpose that is: to tell it to end.
    """

    is_long = True


def _function(kernel: Kernel) -> Callable[..., Any]:
    address = kernel.address()
    if address is not None:
        return _caller(kernel, address)
    from numba import njit

    function, compiler = kernel.python(), cast(Any, njit)(error_model="numpy")
    return cast(Callable[..., Any], compiler(getattr(function, "py_func", function)))


def _caller(kernel: Kernel, address: int) -> Callable[..., Any]:
    """Return a function that calls the machine code at `address`.

    It holds the interpreter's lock, except for a LongKernel. It raises for an array of another
    type, rank or order in memory than the kernel's, and RuntimeError if the kernel fails.
    """
    types = kernel.word_types()
    make = ctypes.CFUNCTYPE if kernel.is_long else ctypes.PYFUNCTYPE
    call = make(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)(address)
    # A void kernel leaves a null pointer, whose value is None.
    result = ctypes.c_void_p() if kernel.result == "void" else _SCALARS[kernel.result][0]()
    error = ctypes.c_void_p()
    result_words = (ctypes.byref(result), ctypes.byref(error))
    # Most calls take less time than their preparation: this loop is short, and tests few things.
    array_types = [(parameter.dtype, parameter.dims) for parameter in kernel.parameters]
    from_buffer = _ANY_BYTES.from_buffer

    def function(*arguments: Any) -> Any:
        words: list[Any] = [*result_words]
        for (dtype, dims), value in zip(array_types, _flattened(arguments), strict=True):
            if dtype is None:
                words.append(value)
                continue
            if (value.dtype is not dtype and value.dtype != dtype) or value.ndim != dims:
                raise _refused(kernel, value)
            try:
                address = from_buffer(value)
            except TypeError:  # not writable, or not contiguous
                if not value.flags.c_contiguous:
                    raise _refused(kernel, value) from None
                address = value.ctypes.data  # takes four times as long
            words += (None, None, value.size, value.itemsize, address)
            words += value.shape
            words += value.strides
        if call(*words):
            raise RuntimeError(f"the kernel {kernel.name} failed")
        return result.value

    return function


def _flattened(arguments: tuple[Any, ...]) -> list[Any]:
    """Return the numbers and arrays among the arguments, and those inside tuples, in order."""
    values: list[Any] = []
    for value in arguments:
        if isinstance(value, tuple):
            values += value
        else:
            values.append(value)
    return values


def _refused(kernel: Kernel, value: Any) -> TypeError:
    return TypeError(f"{kernel.name} takes {kernel.signature}, not {value!r}")


def _compiled_once(kernel: Kernel) -> ObjectCode:
    """Return the kernel's code, compiled by this process or by another one that has begun."""
    from tilewright.arch.lean.background import in_background

    def compiled() -> ObjectCode:
        with kernel.file.locked():
            return kernel.file.read() or _compiled(kernel)

    return in_background(compiled)


def _compiled(kernel: Kernel) -> ObjectCode:
    """Compile a kernel and store its code, with an empty body if it cannot run without numba."""
    dispatcher = kernel.python()
    from numba.core.compiler_lock import global_compiler_lock

    from tilewright.arch.lean.lean_compilation import object_file_only
    from tilewright.arch.lean.type_answers import remembered_answers

    arguments = _numba_types(kernel)
    one_thread: Any = global_compiler_lock  # what follows changes numba itself
    with one_thread, rare_collections(), remembered_answers(), object_file_only():
        dispatcher.compile(arguments)
        try:
            body = dispatcher.overloads[arguments].library._get_compiled_object()
        except RuntimeError:  # compiled before, as a part of another kernel
            dispatcher.recompile()
            body = dispatcher.overloads[arguments].library._get_compiled_object()
    overload = dispatcher.overloads[arguments]
    convention = overload.target_context.call_conv
    native = convention.get_function_type(overload.signature.return_type, arguments)
    expected = [word for parameter in kernel.parameters for word in parameter.words()[1]]
    alone = [str(word) for word in native.args[2:]] == expected and not _HELPERS.search(body)
    code = ObjectCode(overload.fndesc.llvm_func_name, body if alone else b"")
    kernel.file.write(code)
    return code


def is_kept(kernel: Kernel) -> bool:
    """Return whether a kernel's code is on disk."""
    return kernel.file.read() is not None


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python's garbage collector run less often in the context, where most objects last.

    It saves a tenth of a compilation, a quarter of a first mapping of 1,000 Einsums, and a tenth to
    a quarter of a search on a grid.
    """
    thresholds = gc.get_threshold()
    objects = thresholds[0] and max(OBJECTS_BETWEEN_COLLECTIONS, thresholds[0])  # 0: never
    gc.set_threshold(objects, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _numba_types(kernel: Kernel) -> tuple[Any, ...]:
    """Return numba's types of a kernel's arguments, named tuples as their classes."""
    from numba import types
    from numba.core import sigutils

    signatures: Any = sigutils
    argument_types: list[Any] = []
    for argument in _TYPE.finditer(kernel.arguments):
        name, text = argument[1], argument[0].removesuffix(", ")
        read, _ = signatures.normalize_signature(f"void({kernel.records.get(name, text)})")
        if name in kernel.records:
            home = import_module(kernel.home)
            read = (cast(Any, types).BaseTuple.from_types(read, getattr(home, name)),)
        argument_types.extend(read)
    return tuple(argument_types)


@cache
def _linker() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _loaded(code: ObjectCode) -> int:
    """Link an object file into this process and return the address of its kernel."""
    from llvmlite import binding

    linker = _linker()
    linker.add_object_file(binding.ObjectFileRef.from_data(code.body))
    linker.finalize_object()
    return int(linker.get_function_address(code.symbol))
