"""Why a run failed: deadlocks, run-time errors, bounds."""
