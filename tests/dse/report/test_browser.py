"""The report in a headless browser: no error of its scripts, all charts drawn."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from design_files import run_here

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.nightly
@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_charts_are_drawn_without_errors(toy, tmp_path):
    run_here(toy, tmp_path)
    page = (tmp_path / "run" / "report.html").as_uri()
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--dump-dom", page],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count('class="slice"') == 4, "one for each knob"
    assert done.stdout.count('class="thread') > 10
    assert 'id="scatter"' in done.stdout
    assert done.stdout.count("<circle") > 40
