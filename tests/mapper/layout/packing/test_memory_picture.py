"""The picture of a memory: boxes where the buffers lie, well formed, names escaped."""

from itertools import pairwise
from xml.etree import ElementTree as ET

from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.memory_picture import memory_picture
from tilewright.mapper.layout.packing.packing import pack

SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_have_the_places_of_the_buffers() -> None:
    """240 pixels for 120 bytes: 2 per byte; the second buffer lives in step 1 only."""
    requests = [
        BufferRequest(name="A<b>", tile_bytes=30, depth=2, first=0, last=1),
        BufferRequest(name="B", tile_bytes=40, first=1, last=1),
    ]
    packed = pack(requests, 120)
    root = ET.fromstring(memory_picture(packed))
    boxes = {
        group.findtext(f"{SVG}title"): group.find(f"{SVG}rect") for group in root.iter(f"{SVG}g")
    }
    assert set(boxes) == {
        "A<b>: 2 × 30 bytes at 0, steps 0 to 1",
        "B: 1 × 40 bytes at 60, steps 1 to 1",
    }
    first, second = boxes.values()
    assert first is not None
    assert second is not None
    assert float(first.get("height", 0)) == 120
    assert float(second.get("height", 0)) == 80
    assert float(second.get("y", 0)) + 80 == float(first.get("y", 0))
    assert float(first.get("width", 0)) == 2 * float(second.get("width", 0))
    assert packed._repr_svg_() == memory_picture(packed)


def test_an_empty_memory_has_a_picture() -> None:
    assert "0 of 10 bytes" in memory_picture(pack([], 10))


def test_addresses_of_thin_buffers_lie_apart_and_have_names() -> None:
    requests = [
        BufferRequest(name=f"blocks of b{n}", tile_bytes=2, first=0, last=0) for n in range(5)
    ]
    root = ET.fromstring(memory_picture(pack(requests, 4800)))
    labels = {
        text.text: float(text.get("y", 0))
        for text in root.iter(f"{SVG}text")
        if text.get("text-anchor") == "end"
    }
    assert sorted(labels) == [f"blocks of b{n} at {2 * n}" for n in range(5)]
    places = sorted(labels.values())
    assert min(high - low for low, high in pairwise(places)) >= 12
