"""Lay out _dev/tilewright/ as symlinks, so that type checkers see the import names."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("arch", "mapper", "simulator", "dse", "studies")


def main() -> None:
    package = ROOT / "_dev" / "tilewright"
    package.mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        link = package / folder
        if not link.is_symlink():
            link.symlink_to(ROOT / folder, target_is_directory=True)
    top = package / "__init__.py"
    if not top.is_symlink():
        top.symlink_to(ROOT / "tilewright" / "__init__.py")


if __name__ == "__main__":
    main()
