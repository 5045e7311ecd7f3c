"""Comparisons without a process: what is measured is small, and measured here."""

import pytest

from workflow_rl.runs.pool import SerialPool


def make_quick(patch: pytest.MonkeyPatch) -> None:
    """Measures the noise of gradients by a short training and few samples; workers are no more."""
    patch.setattr("workflow_rl.studies.gradient_noise.SNAPSHOT_UPDATES", 2)
    patch.setattr("workflow_rl.studies.gradient_noise._SAMPLES", 2_000)
    patch.setattr("workflow_rl.runs.store.ProcessPool", lambda number, limit, fresh: SerialPool())
