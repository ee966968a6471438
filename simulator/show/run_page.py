"""A run in words and as a page: what its cycles went to, bank conflicts, address maps, pictures."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Final

from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.show.bank_report import bank_report
from tilewright.simulator.show.heat_map import heat_maps
from tilewright.simulator.show.inspection import Inspection, inspect_program

STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem;border-bottom:1px solid #ccd3dd}"
    "td:nth-child(n+2){text-align:right}pre{background:#f4f6f9;padding:.8rem;overflow-x:auto}"
    "svg{max-width:100%;height:auto;margin:.5rem 1rem .5rem 0}"
)


def run_facts(machine: Machine, result: RunResult) -> dict[str, Any]:
    """Return what a run cost, as plain values that JSON can hold.

    `cycles`; `cycles_by_reason`: of all elements; `conflicts`: a line per operation; `counts`;
    `assumed`: figures that the result rests on; `notes`.
    """
    counts = result.counts
    return {
        "program": machine.program.name,
        "profile": machine.profile.name,
        "elements": machine.program.placement.shape,
        "cycles": result.cycles,
        "cycles_by_reason": result.trace.cycles_by_reason(),
        "conflicts": [str(row) for row in bank_report(machine, result)],
        "counts": {
            "macs": counts.macs,
            "adds": counts.adds,
            "multiplies": counts.multiplies,
            "moves": counts.moves,
            "wavelet_hops": counts.wavelet_hops,
        },
        "assumed": list(result.assumed),
        "notes": list(result.notes),
    }


def run_text(facts: dict[str, Any]) -> str:
    """Return what a run cost, in lines for a terminal; `facts`: of `run_facts`."""
    height, width = facts["elements"]
    place = f"{facts['program']} on {facts['profile']}"
    lines = [f"{place}: {facts['cycles']} cycles, {height} x {width} elements"]
    lines += [f"  {name:<22} {text}" for name, text in _shares(facts)]
    lines += [f"bank conflict: {row}" for row in facts["conflicts"]] or ["no bank conflicts"]
    lines += [f"note: {note}" for note in facts["notes"]]
    if facts["assumed"]:
        lines.append(f"figures that nobody has published: {len(facts['assumed'])}")
    return "\n".join(lines)


def run_page(machine: Machine, result: RunResult) -> str:
    """Return a page (HTML, one file) about a run."""
    facts = run_facts(machine, result)
    title = f"{facts['program']} on {facts['profile']}"
    inspection: Inspection = inspect_program(machine.program, machine.profile)
    counts = [(name.replace("_", " "), str(n)) for name, n in facts["counts"].items()]
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{facts['cycles']} cycles on {' x '.join(map(str, facts['elements']))} elements.</p>",
        *(f"<p>Note: {escape(note)}</p>" for note in facts["notes"]),
        "<h2>Where the cycles of all elements went</h2>",
        _table(_shares(facts)),
        "<h2>Bank conflicts by operation</h2>",
        _list(facts["conflicts"]) or "<p>None.</p>",
        "<h2>Address maps, queues, registers</h2>",
        f"<pre>{escape(str(inspection))}</pre>",
        "<h2>Counts</h2>",
        _table(counts),
        "<h2>Pictures</h2>",
        *heat_maps(result).values(),
        "<h2>Figures that nobody has published</h2>",
        _list(facts["assumed"]) or "<p>None.</p>",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _shares(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (what, cycles with their share) for what cycles went to."""
    cycles = facts["cycles_by_reason"]
    total = max(1, sum(cycles.values()))
    return [(name, f"{n} ({n / total:.1%})") for name, n in cycles.items() if n]


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = (f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{''.join(cells)}</table>"


def _list(rows: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(row)}</li>" for row in rows)
    return f"<ul>{items}</ul>" if items else ""
