"""A trained policy: weights, and the names of what it sees, does and follows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.action_space import Acting, action_space_named
from workflow_rl.agents.shipped import FOR_ALL, shipped_policy
from workflow_rl.arrays import numbers
from workflow_rl.config import RULE_SETS, PolicyConfig, one_of
from workflow_rl.config.checks import file_path, not_allowed
from workflow_rl.config.units import ANY, read_groups
from workflow_rl.envs.observations import TRACKED, Tracker, make_tracker, observation_of
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.mlp import input_rows, read_mlp
from workflow_rl.nets.policy_file import Weights, read_policy, save_policy
from workflow_rl.nets.sampling import sample_masked, softmax
from workflow_rl.scenario.actions import actions_of
from workflow_rl.sim.checks import checked_mask
from workflow_rl.sim.memory import BEGIN, BlueMemory
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import without_violations
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import Order, read_order
from workflow_rl.workflow.units import Units, units_of

_FIRST_ROW: Final = np.zeros(1, np.int64)


class Policy:
    """Actions for observations, under an order.

    Also an agent of CybORG's kind: `get_action(observation, action_space)`, `end_episode()`.
    """

    def __init__(
        self, weights: Weights, config: PolicyConfig, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Makes a policy.

        Args:
            weights: of actor and critic, by their names.
            config: how it was trained: what it sees, does and follows.
            facts: whatever else is known of it, as plain data.

        Raises:
            InvalidInputError: the weights are no network, or none for what it sees and does.
        """
        if not isinstance(config, PolicyConfig):
            raise not_allowed("the config of a policy", config, "a PolicyConfig")
        self.config = config
        self.facts = dict(facts or {})
        self.weights = weights
        self.network = config.game.network  # on which it was trained
        self.observation = observation_of(config.game.observation, self.network)
        self.action_space = action_space_named(config.train.action_space, self.network)
        # Whose orders it was trained on; None: any.
        self.units = None
        if config.train.units != ANY:
            self.units = units_of(config.train.units, self.network)
        self.encoding = (  # how it is shown an order; None: not at all
            OrderEncoding(config.train.shown_order, self.units, self.network)
            if config.train.conditioned
            else None
        )
        self.order: Order | None = (  # by which it is judged, even where it is not shown it
            None if config.order is None else read_order(config.order, self.units, self.network)
        )
        self.is_sampled = config.train.acts == "sampled"  # when it plays, as in training
        self.is_masked = config.ppo.mask_actions  # it was trained with masks
        self.is_shielded = config.train.follow == "shielded"
        self.actor = read_mlp(weights, "actor", config.ppo.activation)
        self._check_size()
        self._rng = np.random.default_rng(0)
        self._acting: Acting | None = None  # of the episode that get_action plays
        self._tracker: Tracker = BlueMemory(self.network, 1)

    def __repr__(self) -> str:
        """Says what it follows, what it is made of and what it was trained on."""
        if self.order is not None:
            follows = repr(str(self.order))
        else:
            follows = "any" if self.is_conditioned else "none"
        units = " x ".join(map(str, self.actor.hidden))
        game = self.config.game
        return (
            f"Policy(order: {follows}, {self.observation.name}: {self.observation.size} values -> "
            f"{units or 'no'} units -> {self.action_space.size} actions, rules={game.rules!r}, "
            f"red_agent={game.red_agent!r})"
        )

    @property
    def is_conditioned(self) -> bool:
        """Whether it is shown an order."""
        return self.encoding is not None

    def logits(
        self, observation: NDArray[Any], order: Sequence[str] | str | None = None
    ) -> NDArray[np.float32]:
        """Returns (n, outputs) the logits for observations (n, size) under one order.

        Raises:
            InvalidInputError: they are no such rows of finite numbers, or the order is none.
        """
        rows = input_rows("observations", observation, self.observation.size)
        if self.encoding is not None:
            ranks = self._ranks(order, len(rows))
            lasting = np.tile(self.encoding.order_bits(ranks[:1]), (len(rows), 1))
            due = self.encoding.step_bits(packed_tables(self.network, rows), ranks)
            rows = np.hstack([rows, lasting, due])
        elif order is not None:
            self.read_order(order)  # refuses it
        return self.actor.forward(rows)

    def probabilities(
        self, observation: NDArray[Any], order: Sequence[str] | str | None = None
    ) -> NDArray[np.float64]:
        """Returns the probabilities of its outputs, (outputs,) or (n, outputs), before any mask.

        Raises:
            InvalidInputError: the observation has another size or a value that is no number
                from -128 to 128, or the order is none.
        """
        seen = self._numbers(observation)
        rows = np.atleast_2d(seen)
        if rows.ndim != 2 or rows.shape[1] != self.observation.size:
            raise self._other_size(seen)
        p = softmax(self.logits(rows, order))
        return np.asarray(p[0] if seen.ndim == 1 else p)

    def act(
        self,
        observation: NDArray[Any],
        order: Sequence[str] | str | None = None,
        *,
        action_mask: NDArray[np.bool_] | None = None,
        deterministic: bool | None = None,
    ) -> Any:
        """Returns an action for an observation, or (n,) actions for n of them.

        Args:
            observation: (size,) or (n, size) of the observation the policy was trained on.
            order: the workflow to follow; by default the one it was trained for.
            action_mask: (145,) or (n, 145), what may be chosen, as in the `info` of a step; by
                default, for a policy that was trained with masks and has a memory, from the memory.
            deterministic: whether to take the most probable action or to sample one; by default
                as its training says.

        Raises:
            InvalidInputError: the mask is not as long as the observations or allows nothing, or
                the outputs are no actions by themselves, as with the winner's 36, which depend on
                the episode so far: use `get_action`.
        """
        if not self.action_space.is_direct:
            raise InvalidInputError(
                f"the outputs of the action space {self.action_space.name} depend on the episode "
                "so far: use get_action() and end_episode(), or `workflow-rl evaluate`"
            )
        p = self.probabilities(observation, order)
        rows = np.atleast_2d(p)
        mask = self._mask(np.atleast_2d(observation), action_mask)
        if self.is_shielded:
            mask = self.shield(mask, observation, order)
        acting = self.action_space.begin(len(rows))
        allowed = acting.allowed(mask)
        if not allowed.any(axis=1).all():
            raise InvalidInputError("the action mask allows no action of this policy")
        if not self.is_sampled if deterministic is None else deterministic:
            chosen = np.where(allowed, rows, -1.0).argmax(axis=1)
        else:
            everyone = np.arange(len(rows))
            chosen, _ = sample_masked(everyone, rows, self._rng.random(len(rows)), allowed)
        actions = acting.actions(chosen)
        return int(actions[0]) if p.ndim == 1 else actions

    def get_action(
        self,
        observation: NDArray[Any],
        action_space: Any = None,
        *,
        workflow: Sequence[str] | str | None = None,
    ) -> int:
        """Returns the action for an observation, as CybORG's evaluation asks.

        A policy with a memory or a belief may be given the 52 bits of the challenge: it keeps them
        by itself.

        Args:
            observation: (52,) or (size,) what Blue sees now.
            action_space: not needed; CybORG gives it.
            workflow: the order to follow in this step; by default the one it was trained for or
                loaded with.

        Raises:
            InvalidInputError: the observation has another size, its table's values are no bits,
                it is shown to a belief and the rules make it impossible, or the order is none that
                the policy follows. The episode goes on from where it was.
        """
        seen = self._numbers(observation)
        order = self.order if workflow is None else self.read_order(workflow)
        keeps_itself = self.observation.name in TRACKED
        size = 4 * len(self.network.observed)
        is_table = seen.shape == (size,) and keeps_itself
        if seen.shape != (self.observation.size,) and not is_table:
            raise self._other_size(seen, f" or {size}" if keeps_itself else "")
        table = seen[None, :size]
        if not ((table == 0) | (table == 1)).all():
            raise InvalidInputError(
                f"the first {size} values of an observation must be bits, 0 or 1"
            )
        if self._acting is None:
            # The full observation needs no tracker of its own: a memory is enough for the mask.
            self._tracker = (
                make_tracker(1, self.config.game) if is_table else BlueMemory(self.network, 1)
            )
            self._last = BEGIN
        known = self._tracker.update(table.astype(np.int8), np.array([self._last]))
        scores = self.probabilities(known[0] if is_table else seen, order)[None]
        allowed = None
        if self._acting is None:  # it has begun
            self._acting = self.action_space.begin(1)
        if self.is_masked:
            mask = self._tracker.action_mask
            mask = self.shield(mask, seen, order) if self.is_shielded else mask
            allowed = self._acting.allowed(mask)
        if self.is_sampled:
            everything = np.ones(scores.shape, np.bool_)
            draws = self._rng.random(1)
            chosen, _ = sample_masked(
                _FIRST_ROW, scores, draws, everything if allowed is None else allowed
            )
            (action,) = self._acting.actions(chosen)
        else:
            scores = scores if allowed is None else np.where(allowed, scores, -1.0)
            (action,) = self._acting.best_actions(scores.argmax(axis=1), scores, _FIRST_ROW)
        self._last = int(action)
        return self._last

    def end_episode(self) -> None:
        """Forgets the episode."""
        self._acting = None

    def save(self, path: str | Path) -> None:
        """Writes the policy, and its description in a JSON file next to it."""
        save_policy(path, self.weights, self.config, self.facts)

    def shield(
        self,
        action_mask: NDArray[np.bool_],
        observation: NDArray[Any],
        order: Sequence[str] | str | None = None,
    ) -> NDArray[np.bool_]:
        """Returns (n, actions) a mask without what would violate the order, by what Blue sees.

        Args:
            action_mask: (n, actions) what is allowed otherwise.
            observation: (its size,) or (n, its size), or the table alone.
            order: the workflow to follow; by default the one it was trained for.
        """
        tables = packed_tables(self.network, np.atleast_2d(self._numbers(observation)))
        ranks = self._ranks(order, len(tables))
        return without_violations(action_mask, tables, ranks, self.network)

    def read_order(self, workflow: Sequence[str] | str, units: Units | None = None) -> Order:
        """Returns the order of a workflow that this policy can follow.

        Args:
            workflow: text, names, or an order that knows its units.
            units: whose names those are; by default the policy's own, or the network's types.

        Raises:
            InvalidInputError: it is none, the policy follows none, or none of these units.
        """
        if self.encoding is None:
            raise InvalidInputError("this policy follows no order: leave out the workflow")
        order = read_order(workflow, units or self.units, self.network)
        if not self.encoding.is_general and order.units != self.units:
            raise InvalidInputError(
                f"this policy follows orders of the units {self.units}, not of {order.units}"
            )
        return order

    def _mask(self, rows: NDArray[Any], given: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Returns (n, actions) what may be chosen: as given, or by the observations."""
        if given is not None:
            mask = numbers("an action mask must be truth values", given)
            is_one = mask.ndim == 1 and len(rows) == 1
            return checked_mask(self.network, mask[None] if is_one else mask, len(rows))
        if self.is_masked:
            return self.observation.action_mask(rows)
        return np.ones((len(rows), actions_of(self.network).size), np.bool_)

    def _numbers(self, observation: Any) -> NDArray[Any]:
        needed = f"an observation of this policy is {self.observation.size} numbers"
        return numbers(needed, observation)

    def _other_size(self, seen: NDArray[Any], more: str = "") -> InvalidInputError:
        return InvalidInputError(
            f"an observation of this policy has {self.observation.size}{more} values, not "
            f"{seen.shape}"
        )

    def _ranks(self, order: Sequence[str] | str | None, n: int) -> NDArray[np.int8]:
        """Returns (n, hosts) the rank of each host in an order, by default the policy's own."""
        followed = self.order if order is None else self.read_order(order)
        if followed is None:
            raise InvalidInputError("this policy follows any order: say which one")
        return np.tile(followed.host_ranks, (n, 1))

    def _check_size(self) -> None:
        """Checks the numbers of inputs and outputs of the network."""
        of_order = 0 if self.encoding is None else self.encoding.size
        expected = self.observation.size + of_order, self.action_space.size
        if (self.actor.inputs, self.actor.outputs) != expected:
            raise InvalidInputError(
                f"a policy of {self.actor.inputs} inputs and {self.actor.outputs} outputs does "
                f"not fit the observation {self.observation.name} of {self.observation.size} "
                f"values, an order of {of_order} and the action space {self.action_space.name} of "
                f"{self.action_space.size}"
            )


def load_policy(
    path: str | Path,
    *,
    rules: str = "main",
    workflow: Sequence[str] | str | None = None,
    units: str | Path | Mapping[str, Sequence[str]] | None = None,
) -> Policy:
    """Reads a policy file, the recommended policy of a run, or one that comes with the package.

    Args:
        path: a policy file, a run directory, or the text `best` or `universal`; a `Path` is
            never such a name.
        rules: for which rule set one that comes with the package was trained.
        workflow: the order it is to follow, of a policy that follows any, such as `universal`.
        units: what the workflow names: types, hosts, subnets, a TOML file or groups of hosts; by
            default the policy's own units, or the five types.

    Raises:
        InvalidInputError: there is none, the file is damaged, foreign or of an earlier version,
            its network does not fit the observation and the action space that it names, or it does
            not follow this workflow.
    """
    rules = one_of("rule set", rules, RULE_SETS)
    named = isinstance(path, str) and path in FOR_ALL
    path = shipped_policy(str(path), rules) if named else file_path("a policy", path)
    if not path.exists():
        known = ", ".join(FOR_ALL)
        raise InvalidInputError(
            f"there is no file {path}, and no policy of that name comes with the package: {known} "
            "do"
        )
    weights, config, facts = read_policy(path, "blue")
    try:
        policy = Policy(weights, config, facts)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} does not hold a policy: {error}") from error
    told = None if units is None else units_of(read_groups(units), policy.network)
    if workflow is not None:
        policy.order = policy.read_order(workflow, told)
    elif told is not None:
        raise InvalidInputError("units say what a workflow names: name the workflow, too")
    return policy
