"""A program of one element: nested loops around a stream that it adds to."""

from __future__ import annotations

STREAM = """program stream 1 x 1
color a
color b
code main
  buffer v f32 [200]
  mem1d all v extent 8
  mem1d two v extent 2
  buffer w i32 [2]
  mem1d whole w extent 2
  input_queue 2 a
  output_queue 3 b
  fabin in queue 2 extent 8
  fabout out queue 3 extent 8
  task main entry
    loop i 20
      loop j 50
        @fadds out, all, in
      @fmuls all, all, #2.0
place main [0:1, 0:1]
route a [0:1, 0:1] rx W tx R
route b [0:1, 0:1] rx R tx E
edge_input xs side W [0:1] color a f32 count 8000
edge_output ys side E [0:1] color b f32 count 8000
"""
