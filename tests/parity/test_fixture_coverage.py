"""What the stored recordings show.

They were chosen to show every rule and quirk that docs/parity.md lists. Actions and outcomes are
counted here; the digests hold the files, and with them the rest of the list.
"""

import hashlib

import numpy as np
import pytest

from tests.parity.fixtures import FILES, TRACES
from workflow_rl.parity.trace import load_trace
from workflow_rl.scenario.scenario2 import NUM_ACTIONS

DIGESTS = {
    "main/bline.npz": "ab0a138df09d7734",
    "main/green_bline.npz": "325e97dbd0fea9fe",
    "main/green_meander.npz": "974e69ce478ae839",
    "main/meander.npz": "34f1238a02b39041",
    "main/sleep.npz": "e5b89b485b967abb",
    "competition/bline.npz": "6bc9ec64196fb25a",
    "competition/meander.npz": "4e57fd0b3db52b5b",
}


OUTCOMES = {"main": {0, 1, 2, 3, 4, 6, 7, 9, 11}, "competition": {1, 2, 3, 4, 5, 6, 9, 11}}


@pytest.mark.parametrize("rules", OUTCOMES)
def test_all_145_actions_are_played_and_every_outcome_occurs(rules: str) -> None:
    actions, outcomes = set[int](), set[int]()
    for trace in (load_trace(path) for kind, path in FILES if kind == rules):
        played = np.arange(trace.steps) < trace.lengths[:, None]
        actions |= set(trace.arrays["blue_action"][played].tolist())
        outcomes |= set(trace.arrays["red_outcome"][played].tolist())
    assert actions == set(range(NUM_ACTIONS))
    assert outcomes == OUTCOMES[rules]


def test_the_files_are_those_that_were_chosen() -> None:
    assert {
        path.relative_to(TRACES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for _, path in FILES
    } == DIGESTS
