"""Write the screenshots of the start page, docs/images/*.png: a report, and the page of a mapping.

Run `python tools/site_pictures.py [RUN]`. RUN is a run of the study tpu_v4i_gpt3; without it the
study is run first, which takes two minutes. It needs chromium or google-chrome.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
TILEWRIGHT = [str(Path(sys.executable).with_name("tilewright"))]


def picture(page: Path, name: str, height: int) -> None:
    """Write what a page shows in a window 1200 wide."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no chromium or google-chrome is installed")
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--virtual-time-budget=3000", f"--window-size=1200,{height}",
         f"--screenshot={IMAGES / name}", page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


def main(arguments: list[str]) -> None:
    """Make the pages and take their pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(arguments[0]).resolve() if arguments else Path(folder) / "run"
        if not arguments:
            subprocess.run(
                [*TILEWRIGHT, "study", "run", "tpu_v4i_gpt3", "--out", str(run)], check=True
            )
        subprocess.run([*TILEWRIGHT, "study", "report", str(run)], check=True)
        picture(run / "report.html", "report.png", 1120)
        page = Path(folder) / "mapping.html"
        subprocess.run(
            [*TILEWRIGHT, "map", "--arch", "edge_npu", "--workload", "stencil",
             "--html", str(page)], check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        text = page.read_text("utf-8")
        only = "<style>main > section:not(#answer, #machine) { display: none; }</style></head>"
        page.write_text(text.replace("</head>", only), "utf-8")  # a browser scrolls too late
        picture(page, "mapping.png", 1330)


if __name__ == "__main__":
    main(sys.argv[1:])
