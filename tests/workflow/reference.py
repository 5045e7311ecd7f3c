"""Compliance by its definition, to be read rather than to be fast: one action, hosts by name.

Written from the definition alone; `workflow_rl.workflow.compliance` is compared with it.
"""

from collections.abc import Iterable, Mapping, Set
from fractions import Fraction
from typing import NamedTuple

FOOTHOLD = "User0"  # Red's own from the start: never open
TYPE_OF = {  # in the order of Blue's table
    "Defender": "defender",
    **{f"Enterprise{k}": "enterprise" for k in range(3)},
    **{f"Op_Host{k}": "op_host" for k in range(3)},
    "Op_Server0": "op_server",
    **{f"User{k}": "user" for k in range(5)},
}


class Judged(NamedTuple):
    """What one action was."""

    any_open: bool
    is_fix: bool
    counts: bool = False
    complies: bool = False


def judge_by_marks(
    marks: Mapping[str, str],
    action: str,
    order: tuple[str, ...],
    home: Mapping[str, str] = TYPE_OF,
    foothold: str = FOOTHOLD,
) -> Judged:
    """Judges `Remove User1` by what Blue saw before it: host -> No, Unknown, User or Privileged."""
    open_hosts = {host for host, mark in marks.items() if mark != "No"}
    already_unknown = {host for host, mark in marks.items() if mark == "Unknown"}
    return _judge(open_hosts, already_unknown, action, order, home, foothold)


def judge_by_truth(
    access: Mapping[str, int],
    killable: Set[str],
    action: str,
    order: tuple[str, ...],
    home: Mapping[str, str] = TYPE_OF,
    foothold: str = FOOTHOLD,
) -> Judged:
    """Judges it by where Red is (0 none, 1 user, 2 privileged) and Remove would end a session."""
    open_hosts = {host for host, level in access.items() if level >= 1}
    return _judge(open_hosts, set(access) - killable, action, order, home, foothold)


def _judge(
    open_hosts: set[str],
    remove_is_repeat: set[str],
    action: str,
    order: tuple[str, ...],
    home: Mapping[str, str],
    foothold: str,
) -> Judged:
    open_hosts = open_hosts - {foothold}
    kind, _, target = action.partition(" ")
    if kind not in ("Remove", "Restore"):
        return Judged(bool(open_hosts), is_fix=False)
    if not open_hosts:
        return Judged(any_open=False, is_fix=True)
    if kind == "Remove" and target in remove_is_repeat:
        return Judged(any_open=True, is_fix=True)
    for unit in order:
        of_this_type = {host for host in open_hosts if home[host] == unit}
        if of_this_type:
            return Judged(True, is_fix=True, counts=True, complies=target in of_this_type)
    raise AssertionError("an open host has a type")


def episode_compliance(steps: Iterable[Judged]) -> Fraction:
    """The compliance of an episode of judged actions."""
    steps = list(steps)
    counted = sum(step.counts for step in steps)
    if counted:
        return Fraction(sum(step.complies for step in steps), counted)
    return Fraction(0 if any(step.any_open for step in steps) else 1)
