"""Nodes of architecture files, whose sizes and costs a test gives in a line."""

from __future__ import annotations

FREE = {"area": 0, "leak_power": 0}
"""Of a node, unless a test says otherwise."""
Rate = tuple[float | str, float | str]
"""Joules of one action, and how many of them there are in a second."""


def arch_text(*nodes: str) -> str:
    """Return the text of an architecture of some nodes, the outermost first."""
    return "arch:\n  nodes:\n" + "".join(nodes)


def memory(
    name: str,
    size: float | str,
    tensors: str,
    read: Rate,
    write: Rate | None = None,
    **fields: object,
) -> str:
    """Return a Memory of `size` bits; `tensors`: its rules, such as `keep: All`.

    write: as `read` if None; fields: others, such as area.
    """
    actions = f"[{_action('read', read)}, {_action('write', write or read)}]"
    rules = {"size": size, "tensors": f"{{{tensors}}}", "actions": actions}
    return _node("Memory", name, rules | FREE | fields)


def mac(energy: float = 1, throughput: float | str = 1, **fields: object) -> str:
    """Return the Compute MAC."""
    action = _action("compute", (energy, throughput))
    return _node("Compute", "MAC", {"actions": f"[{action}]"} | FREE | fields)


def lanes(name: str, dim: str, fanout: int | str, rules: str = "") -> str:
    """Return a Container with a dimension of lanes; `rules`: of the dimension."""
    more = f", {rules}" if rules else ""
    return _node("Container", name, {"spatial": f"[{{name: {dim}, fanout: {fanout}{more}}}]"})


def _action(name: str, rate: Rate) -> str:
    return f"{{name: {name}, energy: {rate[0]}, throughput: {rate[1]}}}"


def _node(tag: str, name: str, fields: dict[str, object]) -> str:
    lines = [f"  - !{tag}", f"    name: {name}", *(f"    {k}: {v}" for k, v in fields.items())]
    return "\n".join(lines) + "\n"
