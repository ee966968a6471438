"""Names given with --set must stand in the files."""

from __future__ import annotations

from design_files import run


def test_names_are_found_in_templates_with_assertions(split, tmp_path):
    text = "{% set n = SIZE %}{% assert n > 1, 'too few' %}workload: {rank_sizes: {M: {{ n }}}}"
    (tmp_path / "sizes.yaml").write_text(text + "\n")
    (tmp_path / "bits.yaml").write_text("workload:\n  bits_per_value: {All: 1}\n")
    files = (*split, "--workload", "bits.yaml")
    assert run("map", *files, "--set", "SIZE=4").exit_code == 0
    wrong = run("map", *files, "--set", "SIZE=4", "--set", "SISE=4")
    assert wrong.exit_code == 2
    assert "did you mean SIZE?" in wrong.stderr
