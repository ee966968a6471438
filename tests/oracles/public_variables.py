"""Values for the templates of the public files (shared data) that have no defaults."""

from __future__ import annotations

VARIABLES: dict[str, object] = {
    "ATTENTION_TYPE": "chunked_local",
    "BATCH_SIZE": 2,
    "CHUNK_SIZE": 8192,
    "DECODE": False,
    "KN": 64,
    "M": 64,
    "N_CACHED_TOKENS": 64,
    "N_EINSUMS": 3,
    "N_EMB_PER_HEAD": 8,
    "N_EXPERTS": 4,
    "N_EXPERTS_PER_TOKEN": 2,
    "N_FF_DIMS": 128,
    "N_HEADS": 4,
    "N_HIDDEN_DIMS": 64,
    "N_KV_LATENT": 6,
    "N_NEW_TOKENS": 16,
    "N_Q_HEADS_PER_KV_HEAD": 2,
    "N_Q_LATENT": 4,
    "N_SHARED_FF_DIMS": 32,
    "N_V_DIMS": 8,
}
