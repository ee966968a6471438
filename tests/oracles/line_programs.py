"""Programs of a line of elements that all run the same code on words from the west."""

from __future__ import annotations

TEXT = """program row 1 x {width}
color a
code each
  buffer v f32 [8]
  mem1d tile v extent 3
  input_queue 2 a
  fabin in queue 2 extent 3
  task main entry
    {body}
place each [0:1, 0:{width}]
{routes}
edge_input x side W [0:1] color a f32 count {words}
"""


def line_program(width: int, words: int, body: str, routes: str) -> str:
    """Return the text of a program for `width` elements; `words`: how many come on color `a`.

    `body`: what the task of each element does with `tile` and the words `in`; `routes`: of `a`.
    """
    return TEXT.format(width=width, words=words, body=body, routes=routes)
