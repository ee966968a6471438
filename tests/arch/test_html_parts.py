"""Tables and nests as HTML."""

from __future__ import annotations

from tilewright.arch.html_parts import html_lines, html_table, html_text


def test_tables_escape_and_leave_out_empty_columns():
    page = html_table([("a<b", "n", "none"), ("<x>", "1", "")], "<><", "T & U")
    assert "<caption" in page
    assert "T &amp; U" in page
    assert "&lt;x&gt;" in page
    assert "none" not in page
    assert page.count("<th ") == page.count("<td ") == 2
    assert "<caption" not in html_table([("a",), ("1",)], "<")


def test_lines_keep_their_order_and_indentation():
    page = html_lines([("[A] X", "storage"), ("  for <m>", "temporal")])
    assert page.index("[A] X") < page.index("  for &lt;m&gt;")
    assert html_text("a & b").endswith(">a &amp; b</p>")
