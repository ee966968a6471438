"""Write the LLVM code of array items and number operations without numba's general machinery.

For each `a[i]` numba looks for an implementation by types, makes a place on the stack for a copy of
the array's record, and reads the fields of that copy; for each `a + b` it looks for implementations
by the values of numbers first. A kernel has thousands of both, and each line of LLVM code is
printed, parsed and optimized. Here the item of a contiguous array at an integer place is read from
the record itself; all else goes to numba's own methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from numba.core import cgutils, ir, lowering, types
from numba.np import arrayobj

_types: Any = types  # numba's classes have no annotations
_arrays: Any = arrayobj
LOWER: Final[Any] = cast(Any, lowering).Lower
Changes = list[tuple[Any, str, Callable[..., Any]]]


def lowering_changes() -> Changes:
    """Return what is changed: class of numba, name of its method, the new one."""
    item, set_item, operation = LOWER.lower_getitem, LOWER.lower_setitem, LOWER.lower_binop

    def lower_getitem(lower: Any, result: Any, statement: Any, *what: Any) -> Any:
        values, place = what[:2]
        array, index = lower.typeof(values.name), lower.typeof(place.name)
        if not _is_plain(lower.context, array, index) or result != array.dtype:
            return item(lower, result, statement, *what)
        pointer = _item_pointer(lower, array, values, place)
        return _arrays.load_item(lower.context, lower.builder, array, pointer)

    def lower_setitem(lower: Any, values: Any, place: Any, value: Any, signature: Any) -> Any:
        array, index = lower.typeof(values.name), lower.typeof(place.name)
        if not _is_plain(lower.context, array, index):
            return set_item(lower, values, place, value, signature)
        builder, context = lower.builder, lower.context
        stored = lower.loadvar(value.name)
        pointer = _item_pointer(lower, array, values, place)
        stored = context.cast(builder, stored, lower.typeof(value.name), array.dtype)
        return _arrays.store_item(context, builder, array, stored, pointer)

    def lower_binop(lower: Any, result: Any, statement: Any, operator: Any) -> Any:
        undefined = cast(Any, ir).UNDEFINED
        if statement.static_lhs is not undefined or statement.static_rhs is not undefined:
            return operation(lower, result, statement, operator)
        context, builder = lower.context, lower.builder
        signature = lower.fndesc.calltypes[statement]
        operands = [
            context.cast(builder, lower.loadvar(each.name), lower.typeof(each.name), kind)
            for each, kind in zip((statement.lhs, statement.rhs), signature.args, strict=True)
        ]
        function = context.typing_context.resolve_value_type(operator)
        kinds = function.get_call_type(context.typing_context, signature.args, {})
        value = context.get_function(function, kinds)(builder, operands)
        return context.cast(builder, value, signature.return_type, result)

    return [
        (LOWER, "lower_getitem", lower_getitem),
        (LOWER, "lower_setitem", lower_setitem),
        (LOWER, "lower_binop", lower_binop),
    ]


def _is_plain(context: Any, array: Any, index: Any) -> bool:
    """Tell whether arrays of numba type `array`, indexed by `index`, have contiguous numbers."""
    if not isinstance(array, _types.Array) or array.layout != "C" or context.enable_boundscheck:
        return False
    places = tuple(index) if isinstance(index, _types.BaseTuple) else (index,)
    return len(places) == array.ndim and all(isinstance(p, _types.Integer) for p in places)


def _item_pointer(lower: Any, array: Any, values: Any, place: Any) -> Any:
    """Return the LLVM value of an item's address; negative places count from the end."""
    context, builder = lower.context, lower.builder
    record, given = lower.loadvar(values.name), lower.loadvar(place.name)
    index = lower.typeof(place.name)
    kinds, places = (index,), [given]
    if isinstance(index, _types.BaseTuple):
        kinds, places = tuple(index), cast(Any, cgutils).unpack_tuple(builder, given)
    fields = context.data_model_manager[array]
    data = builder.extract_value(record, fields.get_field_position("data"))
    extents = fields.get_field_position("shape")
    shape = [builder.extract_value(record, (extents, axis)) for axis in range(array.ndim)]
    fixed = [
        _arrays.fix_integer_index(context, builder, kind, each, extent)
        for kind, each, extent in zip(kinds, places, shape, strict=True)
    ]
    if array.ndim == 1:
        return builder.gep(data, fixed)
    return cast(Any, cgutils).get_item_pointer2(
        context, builder, data=data, shape=shape, strides=(), layout="C", inds=fixed
    )
