"""How the designs of a study are proposed: sequences, Optuna's samplers, and one by bottleneck."""
