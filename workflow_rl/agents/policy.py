"""A trained policy, ready to act."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.action_space import (
    CARDIFF,
    ActionSpace,
    action_space_of,
    draw,
    make_action_space,
)
from workflow_rl.agents.policy_check import check_policy, encoding_told, units_told
from workflow_rl.agents.shipped import FOR_ALL, shipped_policy
from workflow_rl.belief.observation import BELIEF_SIZE, BlueBelief
from workflow_rl.config import RULE_SETS, one_of
from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.memory import (
    BEGIN,
    MEMORY_SIZE,
    TRUTH_SIZE,
    BlueMemory,
    remembered_mask,
)
from workflow_rl.sim.observe import CHALLENGE_SIZE
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import without_violations
from workflow_rl.workflow.orders import Order, read_order
from workflow_rl.workflow.units import Units

POLICY_KIND: Final = "policy"
RECOMMENDED_FILE: Final = Path("policies", "recommended.safetensors")  # of a run's directory
SEES_THE_TRUTH: Final = "sees the truth"  # how tables name a policy that does
_ACTIVATIONS: Final[dict[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}
_FIRST_ROW: Final = np.zeros(1, np.int64)
Weights = dict[str, NDArray[np.float32]]


class Policy:
    """Actions for observations, under an order.

    Also an agent of CybORG's kind: `get_action(observation, action_space)`, `end_episode()`.
    """

    def __init__(self, weights: Weights, description: dict[str, Any]) -> None:
        """Makes a policy of a network's weights and the description saved with them.

        Raises:
            InvalidInputError: they make no policy, or its weights are not finite.
        """
        check_policy(weights, description)
        self.description = description
        self.units = units_told(description)  # whose orders it was trained on; None: any
        self.encoding = encoding_told(description)  # how it is shown an order; None: not at all
        order = description.get("order")
        self.order: Order | None = None if order is None else self.read_order(order)
        self.is_masked = bool(description.get("mask_actions", False))  # it was trained with masks
        self.is_shielded = description.get("follow") == "shielded"
        self.weights = weights
        numbers = {int(name.split(".")[1]) for name in weights if name.startswith("actor.")}
        layers = sorted(numbers)
        self.layers = [(weights[f"actor.{i}.weight"], weights[f"actor.{i}.bias"]) for i in layers]
        activation = description.get("activation", "relu")  # files from before say nothing
        self.activation = one_of("activation", activation, tuple(_ACTIVATIONS))
        self._rng = np.random.default_rng(0)
        self._episode: ActionSpace | None = None  # what get_action remembers

    def __repr__(self) -> str:
        """Says what it follows, what it is made of and what it was trained on."""
        if self.order is not None:
            follows = repr(str(self.order))
        else:
            follows = "any order it is told" if self.is_conditioned else "no order"
        units = " x ".join(str(len(bias)) for _, bias in self.layers[:-1])
        known = ("rules", "red_agent")
        told = [f"{name}={self.description[name]!r}" for name in known if name in self.description]
        made = f"{self.observation_size} values -> {units or 'no'} units -> {self.outputs} actions"
        return f"Policy({', '.join((f'order: {follows}', made, *told))})"

    @property
    def is_conditioned(self) -> bool:
        """Whether it is shown an order."""
        return self.encoding is not None

    @property
    def observation_size(self) -> int:
        """How many values an observation has."""
        size: int = self.layers[0][0].shape[1]
        return size - (self.encoding.size if self.encoding else 0)

    @property
    def sees_the_truth(self) -> bool:
        """Whether it was trained on what no defender can see, to measure what that is worth."""
        return self.observation_size == TRUTH_SIZE

    @property
    def outputs(self) -> int:
        """How many actions it chooses from."""
        size: int = self.layers[-1][0].shape[0]
        return size

    def probabilities(
        self, observation: NDArray[Any], order: Sequence[str] | str | None = None
    ) -> NDArray[np.float64]:
        """Returns the probabilities of its outputs, (145,) or (n, 145), before any mask.

        Raises:
            InvalidInputError: the observation has another size or a value that is no finite
                number, or the order is none.
        """
        seen = self._numbers(observation)
        rows = np.atleast_2d(seen)
        if rows.ndim != 2 or rows.shape[1] != self.observation_size:
            raise self._other_size(seen)
        if not np.isfinite(rows).all():
            raise InvalidInputError("an observation's values must be finite numbers")
        x = self._first_layer(rows, order)
        for weight, bias in self.layers[1:]:
            x = _ACTIVATIONS[self.activation](x) @ weight.T + bias
        p = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.float64))  # none of them quite 0
        p /= p.sum(axis=1, keepdims=True)
        return np.asarray(p[0] if seen.ndim == 1 else p)

    def _first_layer(
        self, rows: NDArray[np.float32], order: Sequence[str] | str | None
    ) -> NDArray[np.float32]:
        """Returns what the first layer makes of observations and an order, the same for all."""
        weight, bias = self.layers[0]
        size = self.observation_size
        x = rows @ weight[:, :size].T + bias
        if self.encoding is None:
            return x
        ranks = self._followed(order).host_ranks[None]
        of_step = size + self.encoding.lasting
        x += weight[:, size:of_step] @ self.encoding.order_bits(ranks)[0]
        if self.encoding.of_step:
            told = self.encoding.step_bits(packed_tables(rows), np.tile(ranks, (len(rows), 1)))
            x += told.astype(np.float32) @ weight[:, of_step:].T
        return x

    def act(
        self,
        observation: NDArray[Any],
        order: Sequence[str] | str | None = None,
        *,
        action_mask: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> Any:
        """Returns an action for an observation, or (n,) actions for n of them.

        Args:
            observation: (52,) or (n, 52), or as many values as the policy was trained on.
            order: the workflow to follow; by default the one it was trained for.
            action_mask: (145,) or (n, 145), what may be chosen, as in the `info` of a step; by
                default, of a policy that was trained with masks and has a memory, what that tells.
            deterministic: the most probable action, or one drawn by its probability.

        Raises:
            InvalidInputError: the mask is not as long as the observations or allows nothing, or
                the outputs are no actions by themselves, as with the winner's 36, which depend on
                the episode so far: use `get_action`.
        """
        name = action_space_of(self.outputs)
        if name == CARDIFF:
            raise InvalidInputError(
                f"this policy has {self.outputs} outputs that depend on the episode so far: use "
                "get_action() and end_episode(), or `workflow-rl evaluate`"
            )
        p = self.probabilities(observation, order)
        rows = np.atleast_2d(p)
        mask = self._mask(np.atleast_2d(observation), action_mask)
        if self.is_shielded:
            mask = self.shield(mask, observation, order)
        space = make_action_space(name, len(rows))
        allowed = space.allowed(mask)
        if not allowed.any(axis=1).all():
            raise InvalidInputError("the action mask allows no action of this policy")
        rows = rows * allowed
        best = rows.argmax(axis=1)
        chosen = best if deterministic else draw(rows, self._rng.random(len(rows)))
        actions = space.actions(chosen)
        return int(actions[0]) if p.ndim == 1 else actions

    def _mask(self, rows: NDArray[Any], given: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Returns (n, 145) what may be chosen: as given, or as far as observations tell."""
        if given is not None:
            mask = np.atleast_2d(np.asarray(given))
            if mask.shape != (len(rows), NUM_ACTIONS) or mask.dtype != np.bool_:
                raise InvalidInputError(
                    f"an action mask must be {NUM_ACTIONS} truth values for each of {len(rows)} "
                    f"observations, not {mask.dtype} of shape {np.shape(given)}"
                )
            return mask
        if self.is_masked and self.observation_size >= MEMORY_SIZE:
            return remembered_mask(rows)
        return np.ones((len(rows), NUM_ACTIONS), np.bool_)

    def get_action(self, observation: NDArray[Any], action_space: Any = None) -> int:
        """Returns the most probable action, as CybORG's evaluation asks.

        A policy with a memory or a belief may be given the 52 bits of the challenge: it keeps them
        by itself.

        Raises:
            InvalidInputError: the observation has another size, its first 52 values are no bits,
                or it is shown to a belief and the rules make it impossible. The episode goes on
                from where it was.
        """
        seen = self._numbers(observation)
        keeps_itself = self.observation_size in (MEMORY_SIZE, BELIEF_SIZE)
        is_table = seen.shape == (CHALLENGE_SIZE,) and keeps_itself
        if seen.shape != (self.observation_size,) and not is_table:
            raise self._other_size(seen, f" or {CHALLENGE_SIZE}" if keeps_itself else "")
        table = seen[None, :CHALLENGE_SIZE]
        if not ((table == 0) | (table == 1)).all():
            raise InvalidInputError(
                f"the first {CHALLENGE_SIZE} values of an observation must be bits, 0 or 1"
            )
        if self._episode is None:
            self._mind, self._last = self._new_mind(is_table), BEGIN
        known = self._mind.update(table.astype(np.int8), np.array([self._last]))
        scores = self.probabilities(known[0] if is_table else seen)[None]
        if self._episode is None:  # it has begun
            self._episode = make_action_space(action_space_of(self.outputs), num_envs=1)
        if self.is_masked:
            mask = self._mind.action_mask
            mask = self.shield(mask, seen) if self.is_shielded else mask
            scores = np.where(self._episode.allowed(mask), scores, -1.0)
        (action,) = self._episode.best_actions(scores.argmax(axis=1), scores, _FIRST_ROW)
        self._last = int(action)
        return self._last

    def _numbers(self, observation: Any) -> NDArray[np.float32]:
        try:
            return np.asarray(observation, np.float32)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"an observation of this policy is {self.observation_size} numbers, not "
                f"{observation!r:.60}"
            ) from None

    def _other_size(self, seen: NDArray[np.float32], more: str = "") -> InvalidInputError:
        return InvalidInputError(
            f"an observation of this policy has {self.observation_size}{more} values, not "
            f"{seen.shape}"
        )

    def _new_mind(self, is_shown_tables: bool) -> BlueMemory | BlueBelief:
        """Returns what keeps the history of an episode that begins.

        Who is told what to believe need not work it out: a memory, for the masks, is enough.
        """
        if self.observation_size != BELIEF_SIZE or not is_shown_tables:
            return BlueMemory(1)
        return BlueBelief(1, one_of("rule set", self.description.get("rules"), RULE_SETS))

    def end_episode(self) -> None:
        """Forgets the episode."""
        self._episode = None

    def save(self, path: Path) -> None:
        """Writes the policy, and its description beside it."""
        save_policy(path, self.weights, self.description)

    def shield(
        self,
        action_mask: NDArray[np.bool_],
        observation: NDArray[Any],
        order: Sequence[str] | str | None = None,
    ) -> NDArray[np.bool_]:
        """Returns (n, 145) a mask without what would violate the order, by what Blue sees.

        Args:
            action_mask: (n, 145) what is allowed otherwise.
            observation: (52 or more,) or (n, 52 or more).
            order: the workflow to follow; by default the one it was trained for.
        """
        rows = np.atleast_2d(observation)
        ranks = np.tile(self._followed(order).host_ranks, (len(rows), 1))
        return without_violations(action_mask, packed_tables(rows), ranks)

    def read_order(self, workflow: Sequence[str] | str, units: Units | None = None) -> Order:
        """Returns the order of a workflow, as far as it can be told to this policy.

        Args:
            workflow: text, names, or an order that knows its units.
            units: whose names those are; by default the policy's own, or the five types.

        Raises:
            InvalidInputError: it is none, or the policy cannot be told orders of these units.
        """
        order = read_order(workflow, units or self.units)
        is_bound = self.encoding is not None and not self.encoding.is_general
        if is_bound and order.units != self.units:
            raise InvalidInputError(
                f"this policy can be told orders of the units {self.units}, not of {order.units}"
            )
        return order

    def _followed(self, order: Sequence[str] | str | None) -> Order:
        if order is not None:
            return self.read_order(order)
        if self.order is None:
            raise InvalidInputError("this policy follows any order: say which one")
        return self.order


def describe_policy(*, order: Order | None, conditioned: bool, **more: Any) -> dict[str, Any]:
    """Returns the description that is saved with a policy."""
    named = None if order is None else str(order)
    return {"order": named, "conditioned": conditioned, **more}


def save_policy(path: Path, weights: Weights, description: dict[str, Any]) -> None:
    """Writes a policy, and its description beside it."""
    from workflow_rl.files import save_arrays, write_json  # needs safetensors

    path.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(path, POLICY_KIND, dict(weights), description)
    write_json(path.with_suffix(".json"), description)


def load_policy(path: str | Path, *, rules: str = "main") -> Policy:
    """Reads a policy file, the recommended policy of a run, or one that comes with the package.

    Args:
        path: a policy file, a run directory, or the text `best` or `universal`; a `Path` is
            never such a name.
        rules: for which rule set one that comes with the package was trained.

    Raises:
        InvalidInputError: there is none, or the file is damaged or foreign.
    """
    from workflow_rl.files import load_arrays  # needs safetensors

    rules = one_of("rule set", rules, RULE_SETS)
    named = isinstance(path, str) and path in FOR_ALL
    path = shipped_policy(str(path), rules) if named else file_path("a policy", path)
    if path.is_dir():
        path = path / RECOMMENDED_FILE
    weights, description = load_arrays(path, POLICY_KIND)
    try:
        return Policy(weights, description)
    except (KeyError, ValueError) as error:
        raise InvalidInputError(f"{path} is not a policy of this version: {error}") from error
