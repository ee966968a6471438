"""A rule that a layout or a placement breaks: its name, a sentence, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """Say which rule is broken, why, and by how much.

    `rule`: its name, such as "capacity" or "psum.bank"; `what`: one sentence; `numbers`: the values
    that the rule compares, by name; `instead`: what would be legal.
    """

    rule: str
    what: str
    numbers: Mapping[str, int] = field(default_factory=dict)
    instead: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}" + (f" (instead: {self.instead})" if self.instead else "")
