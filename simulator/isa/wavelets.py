"""The bits of control wavelets: data, entry of a control task, commands to router switches.

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
    """Return the 32-bit payload of a control wavelet, a message that commands router switches.

    `commands`: up to eight of nop, switch_adv, switch_rst, teardown; a router obeys the first that
    is left. `entry` (0-63): id of the control task that it starts at an element; `data`: 16-bit
    argument of that task. `ignore_ce`: keep the wavelet from the element (compute engine) at the
    router that obeys a command; one value for all commands or one for each. Raises ProgramError
    for an unknown command or a number out of range.
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
