"""A policy with a memory as an ONNX model that keeps it in a state.

The observation is `memory` or `recall`. The graph takes in a step as `sim/memory.py` does, from the
challenge's 52 bits and the policy's own last action, which the state holds as well: nothing else is
needed. Then it masks what would be refused or, of a shielded policy, violate the order, and
chooses.

Inputs, a row for each of n episodes: `observation`, float (n, 52); `state`, float (n, its size),
all zeros where an episode begins; and of a policy that follows any order `order`, float (n, 13),
the rank of each host, 0 for those to be fixed first. Outputs: those of the plain export, and
`next_state`, which is the `state` of the next step. Its last entry is the action, plus 1: whoever
samples an action of a stochastic policy writes it there.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.onnx_graph import Graph
from workflow_rl.agents.policy import Policy
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import (
    ACTION_HOST,
    ACTION_KIND,
    CHALLENGE_SIZE,
    FIRST_REMOVE,
    FIRST_RESTORE,
    NUM_ACTIONS,
    NUM_HOSTS,
    USER0,
)
from workflow_rl.scenario.tables import tables_of
from workflow_rl.sim.memory import CLOCK, accepted_beside, memory_layout, placeable_decoys
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.units import fixable_hosts

if TYPE_CHECKING:
    from onnx import ModelProto

MEMORY_LAYOUT: Final = memory_layout(SCENARIO2)
PLACEABLE: Final = placeable_decoys(SCENARIO2)
FIXABLE_HOSTS: Final = fixable_hosts(SCENARIO2)
_NET: Final[Any] = tables_of(SCENARIO2)[0]
_DECOY_OF: Final = [
    (int(h), int(k) - ActionKind.FIRST_DECOY) for h, k in zip(ACTION_HOST, ACTION_KIND, strict=True)
]
DECOYS_ON: Final = _NET["decoys_on"][:NUM_HOSTS]
PLACED_BY: Final = np.array([_NET["placed_by"][p] if p[1] >= 0 else 0 for p in _DECOY_OF])
REFUSED_BY: Final = np.array(
    [0 if p[1] < 0 else _NET["refused_by"][p] if p in PLACEABLE else -1 for p in _DECOY_OF]
)
_FLOAT, _INT64 = 1, 7  # types, by ONNX's numbers
_AGES: Final = range(8)  # steps for which a scan or an exploit is noted
_FACTS: Final = ("scanned", "exploited", "restored", "twice", "thrice", "removed")  # of a host
_RESTORES: Final = range(4)  # steps for which `recall` notes a Restore
_LAST: Final = {"last_action": 1}  # its number and 1; 0 where an episode begins
_PARTS: Final = {  # of the state, in order, with their sizes; `_LAST` ends it
    **{f"scans_{age}": NUM_HOSTS for age in _AGES},
    **{f"exploits_{age}": NUM_HOSTS for age in _AGES},
    **dict.fromkeys(_FACTS, NUM_HOSTS),
    "decoys": len(PLACEABLE),
    "scanned_decoys": len(PLACEABLE),
    "step": 1,
}
_RECALLED: Final = {  # behind these, of the observation `recall`
    "latest_decoys": len(PLACEABLE),
    **{f"restores_{age}": NUM_HOSTS for age in _RESTORES},
}
_STATES: Final = {"memory": _PARTS | _LAST, "recall": _PARTS | _RECALLED | _LAST}


def _bits(words: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns (k, decoys) the bits of sets of decoys (k,)."""
    return (words[:, None] >> np.arange(len(PLACEABLE)) & 1).astype(np.float32)


def _hosts_of(kind: ActionKind) -> NDArray[np.float32]:
    """Returns (145, 13) the host that each action of a kind is on."""
    is_on = np.equal(ACTION_HOST[:, None], np.arange(NUM_HOSTS))
    return np.asarray(is_on & np.equal(ACTION_KIND, kind)[:, None], np.float32)


_OBSERVATION: Final = {  # what the metadata say, in the place of what a plain export says
    "name": "challenge",
    "size": CHALLENGE_SIZE,
    "layout": [MEMORY_LAYOUT[0]._asdict() | {"first": 0}],
}
_BEGIN: Final = "all zeros where an episode begins; next_state is the state of the next step"
_RANKS: Final = (
    "the rank of each host as listed, 0 for those to be fixed first, hosts of one unit alike; an "
    "input unless the policy was made for one order"
)


def memory_model(policy: Policy, metadata: dict[str, Any]) -> "ModelProto":
    """Returns the model.

    Raises:
        InvalidInputError: the policy has no memory, or outputs that are no actions by themselves.
    """
    parts = _STATES.get(policy.observation.name)
    if parts is None or not policy.action_space.is_direct:
        raise InvalidInputError(
            "an export with memory needs a policy with the observation memory or recall and the "
            f"action space all or useful, not {policy.observation.name} and "
            f"{policy.action_space.name}"
        )
    told = {name: value for name, value in metadata.items() if name != "mask"}
    told["state"] = {"size": sum(parts.values()), "begin": _BEGIN, "layout": dict(parts)}
    told["observation"] = _OBSERVATION
    if policy.encoding is not None:
        order = None if policy.order is None else str(policy.order)
        told["order"] = {"size": NUM_HOSTS, "layout": _RANKS, "trained_for": order}
    return _MemoryGraph(policy).model(told)


class _MemoryGraph(Graph):
    """The whole graph; a value is 0 or 1 of each host, (n, 13), or of each decoy."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._one = self.constant(1.0)
        parts = _STATES[policy.observation.name]
        size = sum(parts.values())
        observation = self.input("observation", np.float32, CHALLENGE_SIZE)
        state = self.split(self.input("state", np.float32, size), [*parts.values()], "was")
        by_host = self._reshaped(observation, NUM_HOSTS, 4)
        first, second, low, high = (self._column(by_host, k) for k in range(4))
        exploit, scan = second, self._and(first, self._not(second))
        now = self._remembered(dict(zip(parts, state, strict=True)), scan, exploit)
        seen = [observation, *self._written(now)]
        marked = self._and(self._or(low, high), self.constant(np.arange(NUM_HOSTS) != USER0))
        unknown = self._and(low, self._not(high))
        refused = self._matrix(now["decoys"], _bits(REFUSED_BY).T)
        never = ~accepted_beside(SCENARIO2, np.zeros((1, len(PLACEABLE))))
        masked = self.add("Add", refused, self.constant(never.astype(np.float32)))
        if policy.encoding is not None:
            ranks = self._ranks(policy, now["step"])
            due = self._due(marked, ranks)
            seen += self._order(policy.encoding, ranks, due)
            if policy.is_shielded:
                masked = self.add("Add", masked, self._violating(marked, unknown, due))
        mask = None
        if policy.is_masked:
            chosen = self.constant(policy.action_space.begin(1).meanings()[0])
            of_outputs = self.add("Gather", masked, chosen, axis=1)
            mask = self.add("Not", self.add("Greater", of_outputs, self.constant(0.0)))
        self.choice(policy, self.network(policy, self.add("Concat", *seen, axis=1)), mask)
        action = self.add("Add", self.add("Cast", "action", to=_FLOAT), self._one)
        last = self._reshaped(action, 1)
        kept = [now[part] for part in parts if part not in _LAST]
        self.add("Concat", *kept, last, axis=1, name="next_state")
        self.output("next_state", np.float32, size)

    # --- the memory: `sim/memory.py`, rule by rule

    def _remembered(self, was: dict[str, str], scan: str, exploit: str) -> dict[str, str]:
        """Takes in a step: what Blue did, then what it was shown."""
        placed, refusing, restored, removed = self._done(was["last_action"])
        others, now = self._not(restored), dict(was)
        for age in reversed(_AGES[1:]):  # everything grows older
            now[f"scans_{age}"] = was[f"scans_{age - 1}"]
            now[f"exploits_{age}"] = self._and(was[f"exploits_{age - 1}"], others)
        meets = self._and(was["decoys"], refusing)
        is_refused = self.add("ReduceMax", meets, axes=[1], keepdims=1)
        decoys = self._or(was["decoys"], self._and(placed, self._not(is_refused)))
        on_hosts = _bits(DECOYS_ON)
        now["decoys"] = self._and(decoys, self._not(self._matrix(restored, on_hosts)))
        for fact in ("exploited", "twice", "thrice", "removed"):
            now[fact] = self._and(was[fact], others)
        now["restored"] = self._or(was["restored"], restored)
        now["removed"] = self._or(now["removed"], removed)
        if "latest_decoys" in was:
            there = self._matrix(scan, on_hosts)
            kept = self._and(was["latest_decoys"], self._not(there))
            now["latest_decoys"] = self._or(kept, self._and(now["decoys"], there))
            for age in reversed(_RESTORES[1:]):
                now[f"restores_{age}"] = was[f"restores_{age - 1}"]
            now["restores_0"] = restored
        new = self._matrix(self._and(scan, self._not(was["scanned"])), on_hosts)
        stood = self._and(now["decoys"], new)
        now["scanned_decoys"] = self._or(was["scanned_decoys"], stood)
        known = self._and(now["exploited"], exploit)
        now["thrice"] = self._or(now["thrice"], self._and(now["twice"], known))
        now["twice"] = self._or(now["twice"], known)
        now["removed"] = self._and(now["removed"], self._not(exploit))
        now["scans_0"], now["exploits_0"] = scan, exploit
        now["scanned"] = self._or(was["scanned"], scan)
        now["exploited"] = self._or(now["exploited"], exploit)
        now["step"] = self.add("Add", was["step"], self._one)
        has_begun = self.add("Min", was["last_action"], self._one)
        return {part: self._and(value, has_begun) for part, value in now.items()}

    def _done(self, last_action: str) -> list[str]:
        """Returns what the last action places, meets, restores and removes."""
        tables = [_bits(PLACED_BY), _bits(REFUSED_BY)]
        tables += [_hosts_of(ActionKind.RESTORE), _hosts_of(ActionKind.REMOVE)]
        number = self.add("Max", self.add("Sub", last_action, self._one), self.constant(0.0))
        index = self.add("Cast", self._reshaped(number), to=_INT64)
        rows = self.add("Gather", self.constant(np.hstack(tables)), index, axis=0)
        return self.split(rows, [table.shape[1] for table in tables], "done")

    def _written(self, now: dict[str, str]) -> list[str]:
        """Returns the entries of the observation behind the table."""
        scans, exploits = (
            [now[f"{kind}_{age}"] for age in _AGES] for kind in ("scans", "exploits")
        )
        fixes = [now[fact] for fact in ("twice", "thrice", "removed", "restored")]
        reached = self.add("GreaterOrEqual", now["step"], self.constant(np.array(CLOCK, float)))
        shown = [
            self._per_host([*self._recent(scans), now["scanned"]]),
            self._per_host([*self._recent(exploits), now["exploited"]]),
            self._per_host(fixes),
            now["decoys"],
            self.add("Cast", reached, to=_FLOAT),
            now["scanned_decoys"],
        ]
        if "latest_decoys" in now:
            restores = self._per_host([now[f"restores_{age}"] for age in _RESTORES])
            shown += [now["latest_decoys"], restores]
        return shown

    def _recent(self, ages: list[str]) -> list[str]:
        """Returns whether something was noted in the last 2, 4, 8 steps."""
        return [self.add("Max", *ages[:last]) for last in (2, 4, 8)]

    # --- the order

    def _ranks(self, policy: Policy, step: str) -> str:
        """Returns (n, 13) the ranks of the hosts."""
        if policy.order is None:
            return self.input("order", np.float32, NUM_HOSTS)
        ones = self._not(self._and(step, self.constant(0.0)))  # (n, 1)
        return self._and(ones, self.constant(policy.order.host_ranks[None].astype(np.float32)))

    def _due(self, marked: str, ranks: str) -> str:
        """Returns whether a host is marked and no marked host comes before it."""
        mine, others = self._unsqueezed(ranks, 2), self._unsqueezed(ranks, 1)
        before = self.add("Cast", self.add("Less", others, mine), to=_FLOAT)
        waiting = self._and(before, self._unsqueezed(marked, 1))
        return self._and(marked, self._not(self.add("ReduceMax", waiting, axes=[2], keepdims=0)))

    def _violating(self, marked: str, unknown: str, due: str) -> str:
        """Returns (n, 145) which fixes would violate the order."""
        is_any = self.add("ReduceMax", marked, axes=[1], keepdims=1)
        restores = self._and(self._not(due), is_any)
        removes = self._and(restores, self._not(unknown))
        nothing = self._and(is_any, self.constant(0.0))
        column = np.full(NUM_ACTIONS, 2 * NUM_HOSTS)
        column[FIRST_REMOVE : FIRST_REMOVE + NUM_HOSTS] = np.arange(NUM_HOSTS)
        column[FIRST_RESTORE : FIRST_RESTORE + NUM_HOSTS] = NUM_HOSTS + np.arange(NUM_HOSTS)
        fixes = self.add("Concat", removes, restores, nothing, axis=1)
        return self.add("Gather", fixes, self.constant(column), axis=1)

    def _order(self, encoding: OrderEncoding, ranks: str, due: str) -> list[str]:
        """Returns the bits of the order, as `OrderEncoding` shows it."""
        shown, number = [], len(FIXABLE_HOSTS)
        places = self.add("Gather", ranks, self.constant(FIXABLE_HOSTS), axis=1)
        for part in encoding.parts:
            if part == "onehot":
                columns = encoding.unit_hosts
                of_units = self.add("Gather", ranks, self.constant(columns), axis=1)
                at = self.constant(np.arange(float(len(columns)))[:, None])
                bits = self.add("Equal", self._unsqueezed(of_units, 1), at)
            elif part == "ranks":
                at = self.constant(np.arange(float(number)))
                bits = self.add("Equal", self._unsqueezed(places, 2), at)
            elif part == "precedence":
                pairs = np.nonzero(~np.eye(number, dtype=np.bool_))
                both = [self.add("Gather", places, self.constant(p), axis=1) for p in pairs]
                bits = self.add("Less", *both)
            else:
                continue
            shown.append(self._reshaped(self.add("Cast", bits, to=_FLOAT), encoding.size_of(part)))
        if encoding.of_step:
            shown.append(self.add("Gather", due, self.constant(FIXABLE_HOSTS), axis=1))
        return shown

    # --- arithmetic of zeros and ones

    def _and(self, a: str, b: str) -> str:
        return self.add("Mul", a, b)

    def _or(self, a: str, b: str) -> str:
        return self.add("Max", a, b)

    def _not(self, a: str) -> str:
        return self.add("Sub", self._one, a)

    def _matrix(self, a: str, by: NDArray[np.float32]) -> str:
        return self.add("MatMul", a, self.constant(by))

    def _column(self, a: str, k: int) -> str:
        return self.add("Gather", a, self.constant(np.array(k)), axis=2)

    def _unsqueezed(self, a: str, axis: int) -> str:
        return self.add("Unsqueeze", a, self.constant(np.array([axis])))

    def _reshaped(self, a: str, *size: int) -> str:
        return self.add("Reshape", a, self.constant(np.array([-1, *size])))

    def _per_host(self, parts: list[str]) -> str:
        """Returns (n, 4 * 13) four values of each host."""
        by_host = self.add("Concat", *(self._unsqueezed(part, 2) for part in parts), axis=2)
        return self._reshaped(by_host, len(parts) * NUM_HOSTS)
