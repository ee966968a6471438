"""The table of all kinds of descriptors: a new kind is a file of this folder and an entry here."""

from __future__ import annotations

from typing import Any, Final

from tilewright.simulator.descriptors.fabric_streams import FABIN, FABOUT
from tilewright.simulator.descriptors.kind import DescriptorKind
from tilewright.simulator.descriptors.memory_vectors import MEM1D, MEM4D
from tilewright.simulator.descriptors.ring_buffers import CIRCBUF, FIFO
from tilewright.simulator.isa.dsd import Dsd

DESCRIPTOR_KINDS: Final[tuple[DescriptorKind[Any], ...]] = (
    MEM1D,
    MEM4D,
    CIRCBUF,
    FIFO,
    FABIN,
    FABOUT,
)
"""All kinds, in the order in which errors list their words."""
_BY_RECORD: Final = {kind.record: kind for kind in DESCRIPTOR_KINDS}
DESCRIPTOR_WORDS: Final = {kind.word: kind for kind in DESCRIPTOR_KINDS}


def descriptor_kind(dsd: Dsd) -> DescriptorKind[Any]:
    """Return the kind of a descriptor: how it is printed, checked and encoded."""
    return _BY_RECORD[type(dsd)]
