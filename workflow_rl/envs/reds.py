"""Red policies: what a file holds, and a batch of the simulator in which they attack."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.config import RULE_SETS, GameConfig, PolicyConfig, one_of
from workflow_rl.config.checks import file_path
from workflow_rl.config.reds import POLICY_SUFFIX, SHIPPED_REDS
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.mlp import read_mlp
from workflow_rl.nets.policy_file import Weights, read_policy, save_policy
from workflow_rl.nets.sampling import draw
from workflow_rl.scenario.network import check_network
from workflow_rl.sim.batch import NO_DRAWS, Batch
from workflow_rl.sim.red_given import RED_SLEEP, red_actions_of
from workflow_rl.sim.red_view import actions_on_hosts, red_view_size

_FOLDER: Final = Path(__file__).with_name("red_policies")
_FIRST_WORD: Final = 1 << 30  # a counter of draws that no step reaches


class RedPolicy:
    """Actions of Red for what it sees. The policy is stochastic: actions are sampled."""

    def __init__(
        self, weights: Weights, config: PolicyConfig, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Makes a policy.

        Args:
            weights: of actor and critic, by their names.
            config: how it was trained.
            facts: whatever else is known of it, as plain data.

        Raises:
            InvalidInputError: the weights are no network, or none for what Red sees and does.
        """
        self.weights, self.config, self.facts = weights, config, dict(facts or {})
        self.actor = read_mlp(weights, "actor", config.ppo.activation)
        self.network = config.game.network
        view, self._actions = red_view_size(self.network), red_actions_of(self.network).size
        if (self.actor.inputs, self.actor.outputs) != (view, self._actions):
            raise InvalidInputError(
                f"a policy of Red has {view} inputs and {self._actions} outputs, not "
                f"{self.actor.inputs} and {self.actor.outputs}"
            )

    @classmethod
    def load(cls, path: str | Path, rules: str = "main") -> Self:
        """Reads a policy; InvalidInputError if there is none.

        Args:
            path: a file, a run, whose recommended policy it is, or a name of `SHIPPED_REDS`.
            rules: for which rule set, of those that come with the package.
        """
        if path in SHIPPED_REDS:
            path = _FOLDER / f"{path}_{one_of('rule set', rules, RULE_SETS)}{POLICY_SUFFIX}"
        path = file_path("a policy of Red", path)
        if not path.exists():
            raise InvalidInputError(f"there is no file {path} of a policy of Red")
        weights, config, facts = read_policy(path, "red")
        try:
            return cls(weights, config, facts)
        except InvalidInputError as error:
            raise InvalidInputError(f"{path} does not hold a policy: {error}") from error

    def act(
        self,
        view: NDArray[np.int8],
        legal: NDArray[np.bool_],
        uniforms: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Returns (n,) actions by positions.

        Args:
            view: (n, `red_view_size`) what Red sees.
            legal: (n, actions) what it may do.
            uniforms: (n,) numbers in [0, 1), by which actions are sampled.
        """
        legal = checked_array("legal actions", legal, (len(view), self._actions), np.bool_)
        uniforms = checked_array("uniforms", uniforms, (len(view),), np.float32)
        actions = np.empty(len(view), np.int64)
        draw(self.actor.forward(view), legal, uniforms, actions, np.empty(len(view), np.float32))
        return actions

    def save(self, path: str | Path) -> None:
        """Writes the policy, and its description in a JSON file next to it."""
        save_policy(path, self.weights, self.config, self.facts)


class PlayedBatch(Batch):
    """A batch in which policies choose Red's actions, in the episodes that are theirs."""

    def __init__(self, num_envs: int, config: GameConfig, **settings: Any) -> None:
        """Reads the policies and allocates the batch; for the settings see `Batch`.

        Raises:
            InvalidInputError: a file holds no policy of Red, or one for another rule set or
                network.
        """
        super().__init__(num_envs, config, **settings | {"red_view": True})
        self._policies: dict[int, RedPolicy] = {}
        for number, red in enumerate(config.reds):
            if red.is_policy:
                policy = RedPolicy.load(red.name, config.rules)
                check_network(red.name, policy.network, config.network)
                rules = policy.config.game.rules
                if rules != config.rules:
                    raise InvalidInputError(
                        f"{red.name} attacks by the rule set {rules}, but the game is played by "
                        f"{config.rules}"
                    )
                self._policies[number] = policy

    def step(self, actions: NDArray[np.integer[Any]], *draws: NDArray[Any]) -> int:
        """Plays one turn in every environment; as `Batch.step`, but nobody gives Red's actions."""
        return super().step(actions, draws[0] if draws else NO_DRAWS, self.chosen())

    def chosen(self) -> NDArray[np.int64]:
        """Returns (n,) the policies' actions on hosts; Sleep where another Red attacks."""
        chosen = np.full(self.num_envs, RED_SLEEP, np.int64)
        uniforms = self.uniforms(_FIRST_WORD)
        for number, policy in self._policies.items():
            mine = np.flatnonzero(self.state["red_number"] == number)
            if len(mine):
                seen, legal = self.red.observation[mine], self.red.legal[mine]
                actions = policy.act(seen, legal, uniforms[mine])
                chosen[mine] = actions_on_hosts(self.network, actions, self.red.memory[mine])
        return chosen
