"""Calls everything that hands arrays to compiled code with arrays that are not what it asks for.

python -m tests.fuzz.arrays CALLS SEED

Each call gives a result or is refused in one sentence. The process says on standard error what it
is about to call, so that whoever started it knows by what it died; at the end it prints, as JSON,
how many calls gave a result and how many were refused, for each function.
"""

import collections
import json
import random
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.agents.policies import new_policy
from workflow_rl import Belief, Cage2Env, Cage2VectorEnv, evaluate
from workflow_rl.agents.action_space import action_space_named
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import FingerprintAgent, PolicyAgent
from workflow_rl.agents.scripts import SleepAgent
from workflow_rl.config import ACTION_SPACES, GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.envs.observations import make_batch, make_tracker
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.distinct import DistinctRows
from workflow_rl.nets.mlp import read_mlp
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.table import packed_tables
from workflow_rl.train.alignment import Expectation
from workflow_rl.train.episodes import episode_sums
from workflow_rl.workflow.compliance import (
    Tally,
    compliance_shares,
    judge_observed,
    judge_true,
    without_violations,
)
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.explain import explain_observed, explain_true
from workflow_rl.workflow.orders import TYPES

N: Final = 3
STEPS: Final = 4
_LONGEST: Final = 400  # characters of a sentence
Door = tuple[Callable[..., Any], tuple[Any, ...]]  # a function, and arguments that it takes


def zeros(*shape: int, dtype: Any = np.int64) -> NDArray[Any]:
    """An array that is as allowed as any."""
    return np.zeros(shape, dtype)


def truths(*shape: int) -> NDArray[Any]:
    return zeros(*shape, dtype=np.bool_)


def floats(*shape: int) -> NDArray[Any]:
    return zeros(*shape, dtype=np.float32)


TABLES: Final = zeros(N, 52, dtype=np.int8)
MASKS: Final = np.ones((N, 145), np.bool_)


def with_last(call: Callable[..., Any], *last: Any) -> Callable[..., Any]:
    """A function that is given its last arguments, which are right."""
    return lambda *given: call(*given, *last)


class Stubborn(SleepAgent):
    """Chooses what it is told, and follows an order."""

    order = TYPES[0]
    chosen: Any = None

    def act(self, observation: Any, action_mask: Any, step: int) -> Any:
        return self.chosen


def judged(chosen: Any, **settings: Any) -> None:
    """Evaluates an agent that chooses something."""
    agent = Stubborn()
    agent.chosen = chosen
    evaluate(agent, episodes=N, steps=[2], red_agents=["bline"], **settings)


def shown_elsewhere(observation: Any, mask: Any) -> None:
    """Evaluates a scripted agent on an environment that shows something."""

    class Odd(Cage2Env):
        def step(self, action: Any) -> Any:
            _, *rest, info = super().step(action)
            return (observation, *rest, {**info, "action_mask": mask})

    evaluate(GreedyAgent(), episodes=2, steps=[3], red_agents=["bline"], make_env=Odd)


def games() -> dict[str, Door]:
    """Simulator, environments, beliefs and memories."""
    doors: dict[str, Door] = {}
    for observation in ("challenge", "cardiff", "memory", "belief"):
        game = GameConfig(observation=observation, episode_length=5)
        batch = make_batch(N, game)
        batch.reset(0)
        doors[f"Batch.step, {observation}"] = batch.step, (zeros(N),)
        doors[f"Batch.step with draws, {observation}"] = batch.step, (zeros(N), zeros(N, 5))
        kept = {name: array for name, array in batch.saved().items() if name != "states"}
        loaded = make_batch(N, game)
        loaded.reset(0)

        def load(*arrays: Any, batch: Any = loaded, names: Any = tuple(kept)) -> None:
            # What the rules keep of a game is not checked value by value: see SECURITY.md.
            batch.load({"states": batch.saved()["states"], **dict(zip(names, arrays, strict=True))})

        doors[f"Batch.load, {observation}"] = load, tuple(kept.values())
        tracker = make_tracker(N, game)
        doors[f"Tracker.update, {observation}"] = tracker.update, (TABLES, np.full(N, -1))
    vector = Cage2VectorEnv(N, seed=0)
    vector.reset()
    doors["Cage2VectorEnv.step"] = vector.step, (zeros(N),)
    single = Cage2Env(seed=0, episode_length=10**6)
    single.reset()
    doors["Cage2Env.step"] = single.step, (0,)
    episode = Episode(GameConfig(episode_length=10**6), 0)
    doors["Episode.act"] = episode.act, (0, zeros(5))
    belief, alone = Belief(N), Belief(1)
    doors["Belief.update"] = belief.update, (TABLES, zeros(N))
    doors["Belief.update, one"] = alone.update, (TABLES[0], 0)
    doors["Belief.update, ended"] = (
        lambda *given: belief.update(*given[:2], ended=given[2]),
        (TABLES, zeros(N), truths(N)),
    )
    doors["Belief.restart"] = belief.restart, (truths(N),)
    doors["Belief.load"] = (
        lambda *given: belief.load(dict(zip(("tables", "actions", "steps"), given, strict=True))),
        (zeros(N, 2, 1), zeros(N, 2, dtype=np.int16), np.array([2, 1, 0])),
    )
    return doors


def verdicts() -> dict[str, Door]:
    """Compliance, and how an order is shown."""
    ranks = TYPES.host_ranks([0, 1, 2])
    each, hosts, tables = zeros(N), zeros(N), zeros(N, 1)
    values, ended = floats(STEPS, N), truths(STEPS, N)
    verdicts = zeros(STEPS, N, dtype=np.int8)
    doors: dict[str, Door] = {
        "packed_tables": (partial(packed_tables, SCENARIO2), (TABLES,)),
        "judge_observed": (judge_observed, (tables, each, ranks)),
        "judge_true": (judge_true, (hosts, hosts, each, ranks)),
        "without_violations": (without_violations, (truths(N, 145), tables, ranks)),
        "compliance_shares": (
            with_last(compliance_shares, Tally.zeros(N)),
            (verdicts, ended, ended),
        ),
        "compliance_shares of a tally": (
            lambda *tally: compliance_shares(verdicts, ended, ended, Tally(*tally)),
            tuple(Tally.zeros(N)),
        ),
        "explain_observed": (with_last(explain_observed, TYPES[0]), (tables[0], 20)),
        "explain_true": (with_last(explain_true, TYPES[0]), (0, 0, 20)),
        "discounted_returns": (with_last(discounted_returns, 0.9), (values, ended)),
        "generalised_advantages": (
            with_last(generalised_advantages, 0.9, 0.9),
            (values, values, floats(N), ended),
        ),
        "Expectation": (
            lambda *given: Expectation(*given).at(*given[1:]),
            (values, zeros(STEPS, N, dtype=np.int32), values),
        ),
        "episode_sums": (episode_sums, (values, ended, np.zeros(N))),
    }
    for name in ("onehot", "ranks", "precedence", "due", "ranks+due"):
        encoding = OrderEncoding(name, TYPES.units)
        doors[f"OrderEncoding.order_bits, {name}"] = encoding.order_bits, (ranks,)
        doors[f"OrderEncoding.step_bits, {name}"] = encoding.step_bits, (tables, ranks)
    return doors


def policy_doors(name: str, policy: Policy) -> dict[str, Door]:
    """A policy, and the agent that plays by it."""
    rows = zeros(N, policy.observation.size, dtype=np.int8)
    agents = [PolicyAgent(policy, name, sampled=sampled) for sampled in (False, True)]
    for agent in agents:
        agent.begin(N, 0)
        if not policy.action_space.is_direct:  # beyond the fixed start
            for step in range(4):
                agent.act(rows, MASKS, step)
    doors: dict[str, Door] = {
        f"PolicyAgent.act, {name}": (with_last(agents[0].act, 9), (rows, MASKS)),
        f"PolicyAgent.act, sampled, {name}": (with_last(agents[1].act, 9), (rows, MASKS)),
        f"Policy.logits, {name}": (policy.logits, (rows,)),
        f"Policy.probabilities, {name}": (policy.probabilities, (rows[0],)),
        f"Policy.get_action, {name}": (policy.get_action, (rows[0],)),
    }
    if policy.action_space.is_direct:
        doors[f"Policy.act, {name}"] = (
            lambda rows, mask: policy.act(rows, action_mask=mask, deterministic=False),
            (rows, MASKS),
        )
    if policy.order is not None:
        doors[f"Policy.shield, {name}"] = policy.shield, (MASKS, rows)
    return doors


def agents() -> dict[str, Door]:
    """Agents, policies, and what they are made of."""
    greedy = GreedyAgent()
    greedy.begin(N, 0)
    both = FingerprintAgent(SleepAgent(), GreedyAgent())
    both.begin(N, 0)
    odd = Stubborn()
    with_odd = FingerprintAgent(odd, GreedyAgent())
    with_odd.begin(N, 0)

    def odd_pair(chosen: Any) -> None:
        odd.chosen = chosen
        with_odd.act(TABLES, MASKS, 0)

    policy = new_policy(conditioned=True, order=0)
    mlp = read_mlp(policy.weights, "actor", "tanh")
    doors: dict[str, Door] = {
        "evaluate": (judged, (zeros(N),)),
        "evaluate with make_env": (lambda chosen: judged(chosen, make_env=Cage2Env), (zeros(1),)),
        "evaluate on an odd environment": (shown_elsewhere, (TABLES[0], MASKS[0])),
        "GreedyAgent.act": (with_last(greedy.act, 0), (TABLES, MASKS)),
        "FingerprintAgent.act": (with_last(both.act, 3), (TABLES, MASKS)),
        "FingerprintAgent.act of an odd agent": (odd_pair, (zeros(N),)),
        "DistinctRows.number": (DistinctRows(52).number, (TABLES,)),
        "Mlp.forward": (mlp.forward, (floats(N, mlp.inputs),)),
    }
    for name in ACTION_SPACES:
        space = action_space_named(name, SCENARIO2)
        acting = space.begin(N)
        scores = np.random.default_rng(0).random((N, space.size))
        doors[f"Acting.allowed, {name}"] = acting.allowed, (MASKS,)
        if space.is_direct:
            continue
        doors[f"Acting.actions, {name}"] = acting.actions, (zeros(N),)
        right = (zeros(N), scores, np.arange(N))
        doors[f"Acting.best_actions, {name}"] = acting.best_actions, right
        doors[f"Acting.end, {name}"] = acting.end, (truths(N),)
    ordered: dict[str, Any] = {"conditioned": True, "order": 0}
    settings: dict[str, dict[str, Any]] = {
        "conditioned": ordered,
        "shielded": ordered | {"follow": "shielded", "mask_actions": True},
        "memory": {"observation": "memory", "action_space": "useful", "mask_actions": True},
        "belief": {"observation": "belief"},
        "cardiff": {"observation": "cardiff", "action_space": "cardiff"},
    }
    for form, given in settings.items():
        doors |= policy_doors(form, new_policy(**given))
    return doors


# --- what is given instead

DTYPES: Final = (
    *("i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "?", "c16", "O", "U3", ">i8", "M8[s]"),
    *("S2", "V4"),
)
NUMBERS: Final = (145, -1, -2, 36, 127, 10**12, -(10**9), 2**63 - 1, -(2**63), 2**31, 2**32)
FLOATS: Final = (*NUMBERS, float("nan"), float("inf"), -float("inf"), 1e308, 0.5)


class Unwilling:
    """An object that is no array, and says so in its own way."""

    shape = "odd"

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("not\nthis way")

    def __len__(self) -> int:
        raise KeyError("no length")

    def __repr__(self) -> str:
        return "a\nb" * 100


OTHERS: Final[tuple[Any, ...]] = (
    *(None, 0, 145, -1, 10**30, 1.5, float("nan"), "Sleep", b"0", [], {}, (), [[0], [0, 0]], True),
    *([[[]]], range(3), {"a": 1}, [None] * 3, [10**30] * 3, object(), Unwilling(), np.int8(3)),
    *(np.ma.MaskedArray(np.zeros(3, np.int64), True), np.matrix([[0, 1, 2]]), iter([0, 0, 0])),
)


def unaligned(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers, a byte beside where the processor would have them."""
    room = np.zeros(array.nbytes + 1, np.uint8)
    moved = room[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


FORMS: Final[tuple[Callable[[NDArray[Any]], Any], ...]] = (
    *(lambda a: a[:-1], lambda a: a[:0], lambda a: a[..., :-1], lambda a: a[..., :0]),
    *(lambda a: a[None], lambda a: a[..., None], lambda a: a.ravel(), lambda a: a.T),
    *(lambda a: a[::-1], lambda a: a.tolist(), lambda a: list(a), np.asfortranarray),
    *(lambda a: np.concatenate([a, a]), lambda a: np.concatenate([a, a], axis=-1)),
    lambda a: np.repeat(a, 2, axis=0)[::2],
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    lambda a: np.broadcast_to(a[:1], a.shape),
    lambda a: np.broadcast_to(a[:1], (1000, *a.shape[1:])),
    lambda a: a.view(np.matrix) if a.ndim == 2 else a.view(np.ma.MaskedArray),
    unaligned,
)


def spoiled(value: Any, rng: random.Random) -> Any:
    """A value that is, most probably, not what was asked for."""
    how = rng.choice(["form", "dtype", "number", "number", "other", "form and number"])
    if how == "other" or not isinstance(value, np.ndarray) or not value.size:
        return rng.choice((*OTHERS, *FLOATS))
    array = value
    if "number" in how:
        whole = array.dtype.kind in "iub"
        array = array.astype(np.int64 if whole else np.float64)
        array.flat[rng.randrange(array.size)] = rng.choice(NUMBERS if whole else FLOATS)
        if rng.random() < 0.3:
            array[...] = array.flat[0] = rng.choice(NUMBERS if whole else FLOATS)
        if rng.random() < 0.7:  # in the type that is asked for, so that it is not converted
            with np.errstate(all="ignore"):
                array = array.astype(value.dtype)
    if "form" in how:
        array = rng.choice(FORMS)(array)
    if how == "dtype":
        try:
            array = array.astype(rng.choice(DTYPES))
        except (TypeError, ValueError):
            return None
        if rng.random() < 0.2:
            array = array[::-1]
    return array


def main(calls: int, seed: int) -> None:
    """Makes the calls; exits with 1 if one ended otherwise than it may."""
    doors = {**games(), **verdicts(), **agents()}
    for call, right in doors.values():
        call(*right)  # what is asked for is taken
    rng, failed = random.Random(seed), 0
    outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    names = [name for name in doors if not name.startswith("evaluate")]
    slow = [name for name in doors if name.startswith("evaluate")]
    for k in range(calls):
        name = rng.choice(slow) if k % 8 == 0 else names[(k - k // 8) % len(names)]
        call, right = doors[name]
        given = list(right)
        for place in rng.sample(range(len(given)), rng.randint(1, min(2, len(given)))):
            given[place] = spoiled(given[place], rng)
        said = ", ".join(
            f"{a.dtype} {a.shape} {a.strides}" if isinstance(a, np.ndarray) else f"{a!r:.60}"
            for a in given
        )
        print(f"{k}: {name}({said})".replace("\n", " "), file=sys.stderr, flush=True)
        try:
            call(*given)
        except InvalidInputError as error:
            said = str(error)
            outcomes[name]["refused"] += 1
            if not said.isprintable() or len(said) > _LONGEST:
                failed += 1
                print(f"no sentence: {said!r}", file=sys.stderr)
        except Exception:
            failed += 1
            traceback.print_exc(limit=-3)
        else:
            outcomes[name]["result"] += 1
    print(json.dumps(outcomes))
    sys.exit(f"{failed} calls ended otherwise" if failed else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
