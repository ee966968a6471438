"""The routers at which colors are in use, and which colors others may have."""

from tilewright.mapper.grid.exchanges.color_use import ColorUse


def test_a_color_is_free_where_none_of_the_routers_uses_it() -> None:
    use = ColorUse()
    use.add(4, 0b0011)
    use.add(2, 0b0100)
    use.add(4, 0b1000)
    assert list(use.free_for(0b0100)) == [4]
    assert list(use.free_for(0b0010)) == [2]
    assert list(use.free_for(0b10000)) == [4, 2]
    assert not list(use.free_for(0b1100))
    use.remove(4, 0b1000)
    assert list(use.free_for(0b1000)) == [4, 2]
    use.remove(4, 0b0011)
    assert use.taken == {2: 0b0100}
