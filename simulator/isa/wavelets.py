"""The bits of control wavelets.

Data in bits 0-15, the entry of a control task in bits 16-21, then eight commands of three bits:
opcode, and a bit that keeps the wavelet from the element of the router that acts on the command.
The first command lies where hand-written payloads have it (wafer.md §5.2: opcode << 6 and
filter << 8 in the upper half); the layout of the other seven is not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.isa.machine_errors import ProgramError

OPCODES: Final = {"nop": 0, "switch_adv": 1, "switch_rst": 2, "teardown": 3}
SLOTS: Final = 8


def control_wavelet(
    *commands: str, entry: int = 0, data: int = 0, ignore_ce: bool | Sequence[bool] = False
) -> int:
    """Return the payload of a control wavelet.

    Commands: up to eight of nop, switch_adv, switch_rst, teardown; the first that is left is
    obeyed by each router. `entry` (0-63) is the id of the control task that it activates at an
    element, `data` its 16-bit argument. `ignore_ce`, one for all commands or one each, keeps it
    from the element. Raises ProgramError.
    """
    if len(commands) > SLOTS or not 0 <= entry < 64 or not -(1 << 15) <= data < 1 << 16:
        raise ProgramError(
            "a control wavelet has at most eight commands, an entry in 0..63 and 16 bits of data",
            value=(commands, entry, data),
        )
    ignored = [ignore_ce] * len(commands) if isinstance(ignore_ce, bool) else list(ignore_ce)
    if not commands and ignore_ce is True:
        commands, ignored = ("nop",), [True]
    if len(ignored) != len(commands):
        raise ProgramError("one ignore_ce per command", value=ignore_ce)
    payload = (data & 0xFFFF) | entry << 16
    for slot, (command, ignore) in enumerate(zip(commands, ignored, strict=True)):
        if command not in OPCODES:
            raise ProgramError(
                "unknown command of a control wavelet",
                value=command,
                instead="one of " + ", ".join(OPCODES),
            )
        payload |= (OPCODES[command] | 4 * ignore) << (22 + 3 * slot)
    return payload
