"""Evaluate the `tensors:` block of a Memory or Toll, given what the holders above it keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.arch.components.components import Kept, PlacementRules
from tilewright.arch.errors import SpecError
from tilewright.arch.expressions.expressions import UnknownNameError, compile_expression
from tilewright.arch.expressions.functions import CONSTANTS
from tilewright.arch.flattening.resolve import Resolver
from tilewright.arch.flattening.scope import Layer
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.spec import TensorsSpec

_SETS = ("keep", "may_keep", "back", "no_refetch_from_above", "no_resend_to_below")


@dataclass(frozen=True, slots=True, eq=False)
class SpecTensorRules:
    """The `tensors:` block of a Memory or Toll, as written in the file.

    Its expressions may name the holders (Memories and Tolls) above it, as the sets they keep, and
    `Above`, their union. Defaults (theory/model.md §8.1): nothing must be kept; everything may be
    kept if `keep` is not written, nothing more if it is. What a Toll keeps must be kept above too.
    """

    spec: TensorsSpec
    resolver: Resolver = field(repr=False)
    holders_above: tuple[str, ...]
    is_toll: bool = False

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Return the rules for the case that each holder above keeps the tensors in `kept_above`.

        Raises SpecError without an Einsum, or for an expression that names something unknown.
        """
        einsum = self.resolver.einsum
        if einsum is None:
            raise SpecError(
                f"which tensors {self.resolver.node.name} keeps depends on the Einsum",
                where=self.resolver.where("tensors"),
                instead="flatten the architecture for an Einsum",
            )
        kept_sets = einsum.kept_sets(self.holders_above, kept_above)
        inner = self.resolver.nested(kept_sets)
        spec = self.spec
        back = self._set(inner, "back")
        keep = self._set(inner, "keep") | back
        may_keep = self._may_keep(inner)
        if self.is_toll:
            tensors_above: frozenset[str] = frozenset().union(
                *(kept_above.get(name, frozenset()) for name in self.holders_above)
            )
            keep, may_keep = keep & tensors_above, may_keep & tensors_above
        return PlacementRules(
            keep=keep,
            may_keep=may_keep | keep,
            back=back,
            no_refetch_from_above=self._set(inner, "no_refetch_from_above"),
            no_resend_to_below=self._set(inner, "no_resend_to_below"),
            tensor_order_options=self._order_options(inner),
            force_memory_hierarchy_order=None
            if spec.force_memory_hierarchy_order is None
            else inner.flag(
                spec.force_memory_hierarchy_order, "tensors", "force_memory_hierarchy_order"
            ),
            tile_shape=tuple(
                inner.comparison(comparison, "tensors", "tile_shape", number)
                for number, comparison in enumerate(spec.tile_shape)
            ),
        )

    def _order_options(self, inner: Resolver) -> tuple[tuple[frozenset[str], ...], ...]:
        return tuple(
            tuple(
                inner.tensors(expression, "tensors", "tensor_order_options", number, position)
                for position, expression in enumerate(option)
            )
            for number, option in enumerate(self.spec.tensor_order_options)
        )

    @property
    def names(self) -> frozenset[str]:
        """The names in the block's expressions.

        Memories and Tolls above, and `Above`, the union of what they keep, are among them if used.
        """
        texts = (
            str(text)
            for _, written in self._written()
            for text in (written if isinstance(written, tuple) else (written,))
        )
        return frozenset().union(*(compile_expression(text).free for text in texts))

    def check_names(self) -> None:
        """Check that each name in the block is a set, rank variable, variable or holder above.

        Raises UnknownNameError. Without an Einsum nothing is checked.
        """
        if self.resolver.einsum is None:
            return
        kept_sets = self.resolver.einsum.kept_sets(self.holders_above, {})
        names = Layer(kept_sets, Layer(self.resolver.einsum.for_loops, self.resolver.names))
        for steps, written in self._written():
            for text in written if isinstance(written, tuple) else (written,):
                where = self.resolver.where("tensors", *steps)
                for name in sorted(compile_expression(str(text), where).free):
                    if name in names or name in CONSTANTS:
                        continue
                    raise UnknownNameError(
                        f"nothing is called {name} here",
                        where=where,
                        value=text,
                        instead=did_you_mean(name, names) or None,
                    )

    def _written(self) -> Iterator[tuple[tuple[str | int, ...], object]]:
        for field_name in _SETS:
            value = getattr(self.spec, field_name)
            if value is not None:
                yield (field_name,), value
        for number, option in enumerate(self.spec.tensor_order_options):
            for position, part in enumerate(option):
                yield ("tensor_order_options", number, position), part
        for number, comparison in enumerate(self.spec.tile_shape):
            yield ("tile_shape", number, "expression"), comparison.expression

    def _set(self, inner: Resolver, field: str) -> frozenset[str]:
        written = getattr(self.spec, field)
        return frozenset() if written is None else inner.tensors(written, "tensors", field)

    def _may_keep(self, inner: Resolver) -> frozenset[str]:
        if self.spec.may_keep is not None:
            return inner.tensors(self.spec.may_keep, "tensors", "may_keep")
        everything = self.resolver.einsum.universe.tensors if self.resolver.einsum else frozenset()
        return everything if self.spec.keep is None else frozenset()
