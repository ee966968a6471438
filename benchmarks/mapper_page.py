"""The page of the mapper's speed, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mapper_rows import Row

PAGE = """\
# Speed of the mapper

Time to find the best mapping, beside AccelForge 1.0.467. Written by

    {command} --write docs/validation/mapper-speed.md

({machine}). Each case runs in a process of its own on one core;
seconds are CPU seconds (user and system). "warm s": our search alone with its compiled kernels
loaded, files read before;
"AccelForge s": its search alone, files read before. Both tools read the same files, and designs
whose costs AccelForge would estimate have fixed figures in both. A run of AccelForge beyond
{limit:.0f} CPU seconds was stopped; its ratio is a lower bound. Figures may stem from different
runs: the last column tells the day. The machine was busy (load average {load} on its cores), which
makes CPU seconds of both tools longer, up to twice. †: not run here, a figure recorded earlier.

{table}

## Differences in value

{differences}

## Whole process

{process}

## Goals that are missed

{missed}
"""
SAME = 1e-6  # AccelForge prints float32
LIMIT = 300.0
PROCESS, FIRST = 0.6, 6.0  # goals of the whole command, in seconds


def page(rows: Sequence[Row], known: Mapping[str, Any], command: str, machine: str) -> str:
    """Return the page; cases without figures are left out and named."""
    measured = [row for row in rows if "ours" in known.get(row.name, {})]
    absent = [row.name for row in rows if row not in measured]
    heads = ("case", "objective", "warm s", "AccelForge s", "ratio", "value", "AccelForge's value",
             "memory MB", "day")  # fmt: skip
    table = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    table += [_line(row, known[row.name]) for row in measured]
    if absent:
        table += ["", f"Without figures, so no goal is met there: {', '.join(absent)}."]
    return PAGE.format(
        command=command, machine=machine, limit=LIMIT, load=_load(known), table="\n".join(table),
        differences=_differences(measured, known), process=_process(measured, known),
        missed=_missed(measured, known),
    )  # fmt: skip


def _load(known: Mapping[str, Any]) -> str:
    loads = [one["load_average"] for found in known.values() for one in found.values()]
    return f"{min(loads):.0f} to {max(loads):.0f}" if loads else "unknown"


def _line(row: Row, found: Mapping[str, Any]) -> str:
    ours, theirs = found["ours"], found.get("theirs", {})
    if "failed" in ours:
        return f"| {row.name} | {row.objective} | failed: {ours['failed']} | | | | | | |"
    gap = "" if ours["kind"] == "optimal" else f" (gap {ours['gap']:.2%})"
    cells = [
        row.name, row.objective, f"{ours['warm']:.3f}", _their_seconds(row, theirs),
        _ratio_text(found), f"{ours['value']:.8g}{gap}",
        f"{theirs['value']:.8g}" if "value" in theirs else "–",
        f"{ours['rss'] / 1e6:.0f}", ours["when"],
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _their_seconds(row: Row, theirs: Mapping[str, Any]) -> str:
    if not theirs and row.quoted:
        return f"{row.quoted} †"
    if "stopped" in theirs:
        return f"> {theirs['stopped']:.0f}"
    if "failed" in theirs:
        return "failed"
    return f"{theirs['search']:.1f}" if "search" in theirs else "–"


def ratio(found: Mapping[str, Any]) -> float | None:
    """Return how many times faster, or at least how many; None: not measured."""
    theirs = found.get("theirs", {})
    seconds = theirs.get("search", theirs.get("stopped"))
    warm = found["ours"].get("warm")
    return None if seconds is None or warm is None else float(seconds / warm)


def _ratio_text(found: Mapping[str, Any]) -> str:
    times = ratio(found)
    if times is None:
        return "–"
    return f"{'> ' if 'stopped' in found['theirs'] else ''}{times:.0f} ×"


def _differences(rows: Sequence[Row], known: Mapping[str, Any]) -> str:
    lines = []
    for row in rows:
        ours, theirs = known[row.name]["ours"], known[row.name].get("theirs", {})
        if "failed" in theirs:
            lines.append(f"- {row.name}: AccelForge ends with `{theirs['failed']}`.")
        if "value" not in ours or "value" not in theirs:
            continue
        off = theirs["value"] / ours["value"] - 1
        if abs(off) > SAME:
            who = "higher (worse)" if off > 0 else "lower (better)"
            lines.append(f"- {row.name}: AccelForge's value is {abs(off):.3%} {who}. {row.note}")
    return "\n".join(lines) or f"None beyond {SAME:g}."


def _process(rows: Sequence[Row], known: Mapping[str, Any]) -> str:
    lines = ["| case | tilewright map s | AccelForge s |", "|---|---|---|"]
    for row in rows:
        ours, theirs = known[row.name]["ours"], known[row.name].get("theirs", {})
        if "process" in ours and not row.without:
            other = f"{theirs['process']:.1f}" if "process" in theirs else "–"
            lines.append(f"| {row.name} | {ours['process']:.2f} | {other} |")
    first = [k["ours"]["first_ever"] for k in known.values() if "first_ever" in k.get("ours", {})]
    lines += ["", *(f"First run ever (no compiled kernels yet): {s:.1f} s." for s in first)]
    return "\n".join(lines)


def _missed(rows: Sequence[Row], known: Mapping[str, Any]) -> str:
    lines = []
    for row in rows:
        found = known[row.name]
        ours, times = found["ours"], ratio(found)
        if "failed" in ours:
            lines.append(f"- {row.name}: {ours['failed']}")
            continue
        if row.goal is not None and ours["warm"] > row.goal:
            lines.append(f"- {row.name}: {ours['warm']:.3f} s, the goal is {row.goal:g} s.")
        if row.ratio is not None and times is not None and times < row.ratio:
            lines.append(f"- {row.name}: {times:.0f} ×, the goal is {row.ratio:g} ×.")
        if "_matmul_" in row.name and ours["process"] > PROCESS:
            lines.append(f"- {row.name}, whole process: {ours['process']:.1f} s, not {PROCESS} s.")
        if ours.get("first_ever", 0.0) > FIRST:
            lines.append(f"- First run ever: {ours['first_ever']:.1f} s, the goal is {FIRST:g} s.")
        if ours["rss"] > 2e9:
            lines.append(f"- {row.name}: {ours['rss'] / 1e9:.1f} GB of memory, the goal is 2 GB.")
    return "\n".join(lines) or "None."
