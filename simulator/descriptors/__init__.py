"""The kinds of descriptors: how each is read, printed, checked and encoded."""
