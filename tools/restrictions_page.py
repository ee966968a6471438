"""Write docs/restrictions.md: every kind of restriction, with its explanation and an example.

Run `python tools/restrictions_page.py` to write the page anew; a test compares them.
"""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.mapper.searches.restrictions import KINDS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "restrictions.md"
HEAD = """# Restrictions of a certificate

A search answers with a certificate, for example

    optimal in energy; restrictions: perfect factors; Einsum order fixed; fusion through L2

It says that no mapping which meets all these restrictions has less energy. A mapping outside of
them may be better. `optimal in energy, without restriction` holds among all mappings. `--json` has
the same names in the list `certificate.restrictions` (`front_proof.restrictions` for a front), and
`SearchResult.certificate.restrictions` has them in Python, with their parameters in full; a printed
name spells out at most 3 names of a list. With `--machine` they are in `search.restrictions`; in
Python in `GridMapping.certificate.restrictions`.

`if fused: ` before a name means that only mappings in which Einsums share loops, or exchange
tensors on chip, must meet the restriction; `if unfused: `, that only the other mappings must.

`tools/restrictions_page.py` writes this page from `mapper/searches/restrictions.py`.
"""


def heading(pattern: str) -> str:
    """Return the name of a kind with its parameters in capitals: "fusion through MEMORIES"."""
    return re.sub(r"\{(\w+)\}", lambda match: match[1].upper(), pattern)


def page() -> str:
    """Return the text of the page."""
    sections = [
        f"## {heading(kind.pattern)}\n\n{kind.explanation}\n\nExample: {kind.example}\n"
        for kind in KINDS
    ]
    return "\n".join([HEAD, *sections])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
