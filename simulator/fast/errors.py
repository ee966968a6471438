"""Why a program has no certificate; internal to the fast engine."""

from __future__ import annotations


class NotCovered(Exception):  # noqa: N818 - it is an outcome, and never leaves the fast engine
    """The fast engine cannot vouch for this program; the reference engine has to run it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
