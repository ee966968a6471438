"""The kinds of instructions: how each is read, printed, checked and encoded."""
