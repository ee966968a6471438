"""Changes of a mapspace are new values; their templates are those of the changed rules."""

from __future__ import annotations

from dataclasses import fields, replace

from buffer_spaces import space

from tilewright.mapper.mapspace.space import Mapspace


def public(room: Mapspace) -> dict[str, object]:
    return {f.name: getattr(room, f.name) for f in fields(room) if not f.name.startswith("_")}


def full_space() -> Mapspace:
    """Return a mapspace in which no field has its default."""
    room = space("keep: All", size=96)
    return replace(
        room, backed=frozenset("A"), uneven=frozenset("m"), crowded=frozenset({"BUF"}),
        exchanged=frozenset("Z"), lists_lane_choices=True,
    )  # fmt: skip


def test_a_change_keeps_every_other_field() -> None:
    room = full_space()
    changed = {
        "uneven": (room.with_even_tiles, frozenset()),
        "crowded": (room.with_crowded(frozenset()), frozenset()),
        "flat": (room.with_flat(space(size=8).flat), None),
    }
    for name, (derived, value) in changed.items():
        expected = public(room)
        actual = public(derived)
        if value is not None:
            assert actual.pop(name) == value
        else:
            assert actual.pop(name) != expected[name]
        expected.pop(name)
        assert actual == expected


def test_a_narrowed_mapspace_has_the_chosen_templates_until_the_path_changes() -> None:
    room = space("keep: All")
    part = room.narrowed(room.templates[:2])
    assert part.templates == room.templates[:2]
    assert part.search_templates(lambda: None) == room.templates[:2]
    assert part.templates_made == 2
    assert len(part.with_flat(room.flat).templates) == len(room.templates) == 6


def test_nothing_is_made_before_it_is_asked_for() -> None:
    room = space("keep: All")
    assert room.templates_made == 0
    calls = []
    assert len(room.templates_within(lambda: calls.append(0))) == 6
    assert len(calls) == room.templates_made == 6
