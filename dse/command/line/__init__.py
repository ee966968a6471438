"""The command line itself: what a shell completes in it, and what to write instead of mistakes."""
