"""The tables of codes: tasks, instructions, operations, operands."""
