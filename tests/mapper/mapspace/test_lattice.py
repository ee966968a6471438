"""The lattice of tile shapes: what comparisons let pass, against one tile at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.components.components import Comparison
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.templates.spatial_choices import holds

NAMES = ("m", "n", "k")
BOUNDS = st.fixed_dictionaries({name: st.sampled_from((1, 2, 6, 12, 2**40)) for name in NAMES})
COMPARISONS = st.builds(
    Comparison,
    rank_variables=st.frozensets(st.sampled_from((*NAMES, "other"))),
    operator=st.sampled_from(("==", "<=", ">=", "<", ">", "product==", "product<=", "product>")),
    value=st.sampled_from((0, 1, 2, 6, 24, 2**80)),
)


@given(BOUNDS, st.lists(COMPARISONS, max_size=3))
def test_comparisons_let_pass_what_holds(
    bounds: dict[str, int], comparisons: list[Comparison]
) -> None:
    lattice = Lattice(bounds)
    each = [dict(zip(lattice.variables, tile, strict=True)) for tile in lattice.tiles.tolist()]
    expected = [all(holds(one, tile) for one in comparisons) for tile in each]
    assert lattice.admitted(comparisons).tolist() == expected
