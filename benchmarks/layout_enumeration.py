"""Seconds to enumerate and check 10,000 layouts: python benchmarks/layout_enumeration.py [COUNT].

Shardings of tensors of three and four groups over the 64 units of a machine, each checked by every
rule of that machine; CPU seconds of a first run (empty caches) and the least of two more.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from tilewright.mapper.layout import Collapse, Layout, Tiling, number_format
from tilewright.mapper.layout.enumeration.shardings import grid_shardings
from tilewright.mapper.layout.legality.layout_rules import broken_rules
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor


def layouts() -> Iterator[Layout]:
    """Yield shardings of one tensor after the other, without end."""
    tiling = Tiling((32, 32), number_format("bf16"))
    size = 0
    while True:
        shape = (6 + size, 12, 32 * (10 + size), 32 * 24)
        tensor = ShardedTensor(shape, (1, 8, 8), tiling)
        yield from grid_shardings(tensor, Collapse.of(shape, ()))
        size += 1


def seconds(count: int) -> tuple[float, Counter[str]]:
    machine = load_machine("wormhole")
    began, rules = time.process_time(), Counter[str]()
    for layout in islice(layouts(), count):
        broken = broken_rules(layout, machine)
        rules.update(rule.rule for rule in broken)
        rules["none"] += not broken
    return time.process_time() - began, rules


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    first, rules = seconds(count)
    again = min(seconds(count)[0] for _ in range(2))
    print(f"{count} layouts enumerated and checked: {first:.2f} s CPU, again {again:.2f} s")
    print("broken rules: " + ", ".join(f"{rule} {times}" for rule, times in sorted(rules.items())))


if __name__ == "__main__":
    main()
