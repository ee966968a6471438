"""Roles in a reduction: who receives on which color, and who sends, for chains by hand."""

from grids import candidate, matmul, matvec

from tilewright.simulator.lowering.roles import Role, link_color, roles


def test_links_of_a_chain_alternate_between_two_colors() -> None:
    assert [link_color(0, link) for link in range(3)] == ["sum0a", "sum0b", "sum0a"]
    assert link_color(1, 1) == "sum1b"


def test_names_of_roles() -> None:
    assert Role((), None).name == "from_none_to_none"
    assert Role(("sum0a", "sum1b"), "out").name == "from_sum0a_sum1b_to_out"


def test_a_row_of_three_is_summed_along_it() -> None:
    """k is split over three columns: the first sends, the middle passes on, the last sends out."""
    found, codes = roles(candidate(matvec(4, 12), 3, 1, shard_x="k"))
    assert found == (
        Role((), "sum0a"),
        Role(("sum0a",), "sum0b"),
        Role(("sum0b",), "out"),
    )
    assert codes.tolist() == [[0, 1, 2]]


def test_every_row_has_the_same_roles() -> None:
    found, codes = roles(candidate(matvec(4, 12), 2, 2, shard_x="k", shard_y="m"))
    assert found == (Role((), "sum0a"), Role(("sum0a",), "out"))
    assert codes.tolist() == [[0, 1], [0, 1]]


def test_an_output_that_stays_has_one_role() -> None:
    lowered = candidate(matmul(8, 12, 16), 4, 2, shard_x="m", shard_y="n")
    found, codes = roles(lowered)
    if lowered.output.resident:
        assert found == (Role((), None),)
    assert len(found) == len(set(codes.ravel().tolist()))


def test_two_phases_sum_groups_and_then_their_heads() -> None:
    """Nine elements in groups of three: two phases with colors of their own."""
    found, codes = roles(candidate(matvec(8, 36), 9, 1, shard_x="k", reduction="two_phase"))
    colors = {color for role in found for color in (*role.receives, role.send)}
    assert colors == {"sum0a", "sum0b", "sum1a", "sum1b", "out"}
    last = found[codes[0, -1]]
    assert last.send == "out"
    assert last.receives == ("sum0b", "sum1b")
    assert sum(role.send == "out" for role in found) == 1
