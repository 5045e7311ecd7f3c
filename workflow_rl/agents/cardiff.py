"""The action space of the challenge's winner: 27 plain actions and 9 decoy macros.

A macro is "the next decoy on this host": each host has a fixed list, each environment
remembers how far it is in it, and restoring the host starts the list over. Outputs are in 0..35,
the actions made of them in 0..144. Here are the tables and the rules for one environment;
`agents/action_space.py` plays many.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.scenario2 import (
    ACTION_HOST,
    ACTION_KIND,
    FIRST_RESTORE,
    NUM_HOSTS,
    parse_action,
)


def _actions(*names: str) -> tuple[int, ...]:
    return tuple(parse_action(name) for name in names)


def _block(kind: str, *hosts: str) -> tuple[int, ...]:
    return _actions(*(f"{kind} {host}" for host in hosts))


_SERVERS: Final = ("Enterprise0", "Enterprise1", "Enterprise2", "Op_Server0")
_USERS: Final = ("User1", "User2", "User3", "User4")

PLAIN_ACTIONS: Final = np.array(  # (27,) output -> action
    [
        *_block("Restore", *_SERVERS),
        *_block("Analyse", *_SERVERS),
        *_block("Remove", *_SERVERS),
        *_block("Analyse", *_USERS),
        *_block("Restore", *_USERS),
        *_actions("Restore Defender", "Analyse Defender", "Remove Defender"),
        *_block("Remove", *_USERS),
    ],
    dtype=np.int64,
)
# Each macro's decoys, in the order in which they are placed.
_LISTS: Final = (
    ("Enterprise0", "HarakaSMPT", "Tomcat", "Vsftpd", "Apache"),  # the last is always refused
    ("Enterprise1", "Femitter"),
    ("Enterprise2", "Femitter"),
    ("User1", "Apache", "Tomcat", "Smss", "Svchost"),
    ("User2", "Femitter", "Tomcat", "Apache", "SSHD"),
    ("User3", "Vsftpd", "SSHD"),
    ("User4", "Vsftpd"),
    ("Defender", "HarakaSMPT", "Tomcat", "Apache", "Vsftpd"),
    ("Op_Server0", "HarakaSMPT", "Apache", "Tomcat", "Vsftpd"),
)
MACRO_LISTS: Final = tuple(
    _actions(*(f"Decoy{decoy} {host}" for decoy in decoys)) for host, *decoys in _LISTS
)
NUM_PLAIN: Final = len(PLAIN_ACTIONS)
NUM_MACROS: Final = len(MACRO_LISTS)
NUM_OUTPUTS: Final = NUM_PLAIN + NUM_MACROS
# Every episode begins with two decoys on User2 and one on Enterprise0, whatever the policy says.
START_OUTPUTS: Final = (NUM_PLAIN + 4, NUM_PLAIN + 4, NUM_PLAIN)

LIST_LENGTHS: Final = np.array([len(decoys) for decoys in MACRO_LISTS], dtype=np.int8)
_DECOYS: Final = np.zeros((NUM_MACROS, int(LIST_LENGTHS.max())), dtype=np.int64)
_MACRO_OF: Final = np.full(NUM_HOSTS, -1, dtype=np.int8)  # (host,) its macro
for _macro, _decoys in enumerate(MACRO_LISTS):
    _DECOYS[_macro, : len(_decoys)] = _decoys
    _MACRO_OF[ACTION_HOST[_decoys[0]]] = _macro
IS_RESTORE: Final = np.array(  # (36,) whether an output restores a host
    [*(ACTION_KIND[PLAIN_ACTIONS] == ActionKind.RESTORE), *[False] * NUM_MACROS]
)
_FIRST_PLAIN_OTHER: Final = int(np.flatnonzero(~IS_RESTORE)[0])  # always acceptable


@rule
def is_exhausted(output: int, placed: NDArray[np.int8]) -> bool:
    """Says whether an output is a macro whose list is used up; `placed` is one row."""
    macro = output - NUM_PLAIN
    return macro >= 0 and placed[macro] >= LIST_LENGTHS[macro]


@rule
def perform(output: int, placed: NDArray[np.int8]) -> int:
    """Returns the action of an output and notes in `placed`, one row, what it means for the lists.

    A macro whose list is used up repeats its first decoy.
    """
    if output < NUM_PLAIN:
        action = PLAIN_ACTIONS[output]
        if action >= FIRST_RESTORE:
            placed[_MACRO_OF[action - FIRST_RESTORE]] = 0
        return int(action)
    macro = output - NUM_PLAIN
    if is_exhausted(output, placed):
        return int(_DECOYS[macro, 0])
    placed[macro] += 1
    return int(_DECOYS[macro, placed[macro] - 1])


@rule
def due_output(output: int, step: int) -> int:
    """Returns what is played in a step of an episode: the fixed start, then the policy's output."""
    return START_OUTPUTS[step] if step < len(START_OUTPUTS) else output


@rule
def acceptable_output(best: int, scores: NDArray[Any], placed: NDArray[np.int8]) -> int:
    """Returns the output that the evaluated agent takes, given the one with the highest score.

    If that is a macro whose list is used up, it goes on down the scores to the first output that is
    neither such a macro nor a Restore.

    Args:
        best: the output with the highest score.
        scores: (36,) of each output.
        placed: (9,) how far the lists are.
    """
    if not is_exhausted(best, placed):
        return best
    chosen = _FIRST_PLAIN_OTHER
    for output in range(NUM_OUTPUTS):
        acceptable = not is_exhausted(output, placed) and not IS_RESTORE[output]
        if acceptable and scores[output] > scores[chosen]:
            chosen = output
    return chosen
