"""Print one of the README's two commands, so that CI runs the very text that users read."""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = ("run", "test")


def command(name: str) -> str:
    """Return the content of the README's `sh` block called `name` (run comes first, then test)."""
    blocks: list[str] = re.findall(
        r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    return blocks[BLOCKS.index(name)].strip()


if __name__ == "__main__":
    print(command(sys.argv[1]))
