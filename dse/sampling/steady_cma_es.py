"""Optuna's CMA-ES, whose state has the same bytes in any process."""

from __future__ import annotations

from typing import Any

from optuna.samplers import CmaEsSampler

_HISTORY = "_funhist_values"


class SteadyCmaEs(CmaEsSampler):
    """CmaEsSampler whose state holds no memory that nothing was written to.

    The state of its optimizer is pickled into the notes of a trial, and so is a history that the
    package cmaes (0.13) makes by `np.empty`: the bytes of a run would depend on the process.
    """

    def _init_optimizer(self, *arguments: Any, **options: Any) -> Any:
        optimizer: Any = super()._init_optimizer(*arguments, **options)
        for part in (optimizer, getattr(optimizer, "_cma", None)):  # of CMAwM, the one inside
            history = getattr(part, _HISTORY, None)
            if history is not None:
                history.fill(0.0)
        return optimizer
