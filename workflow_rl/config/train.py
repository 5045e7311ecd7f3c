"""How one workflow is trained."""

from typing import Final, Literal, get_args

from workflow_rl.config.checks import whole_number
from workflow_rl.config.game import MAX_ENVS
from workflow_rl.config.setting import setting, settings
from workflow_rl.config.units import ANY, Groups, read_groups
from workflow_rl.errors import InvalidInputError

ViewName = Literal["observed", "true"]
AlignmentName = Literal["adaptive", "fixed"]
StopName = Literal["compliance", "budget"]
ActionSpaceName = Literal["all", "useful", "cardiff"]
OrderEncodingName = Literal["onehot", "ranks", "precedence", "due", "ranks+due", "precedence+due"]
FollowName = Literal["learned", "shielded"]
VIEWS: Final[tuple[ViewName, ...]] = get_args(ViewName)
ACTION_SPACES: Final[tuple[ActionSpaceName, ...]] = get_args(ActionSpaceName)
_MOST: Final = 10**9
_MIN_UPDATES: Final = 5


@settings
class TrainConfig:
    """How one workflow is trained; the defaults are the preset `parallel200`."""

    n_envs: int = setting(
        "environments played in parallel", default=200, basic=True, within=(1, MAX_ENVS)
    )
    update_steps: int | None = setting(
        "transitions per update, all environments together; at least n_envs",
        default=None,
        within=(1, _MOST),
        unset="whole episodes of each",
    )
    update_episodes: int = setting(
        "episodes per environment of an update, where update_steps does not say otherwise",
        default=1,
        within=(1, _MOST),
    )
    max_episodes: int = setting(
        "episodes per environment at most", default=50, basic=True, within=(1, _MOST)
    )
    min_updates: int = setting(
        "updates before compliance may end a training, at most max_episodes",
        "--min-episodes",
        default=_MIN_UPDATES,
        basic=True,
        within=(1, _MOST),
        former=("min_episodes",),
    )
    compliance_threshold: float = setting(
        "mean compliance of an update's episodes that ends a training, 0 to 1",
        default=0.95,
        within=(0, 1),
    )
    compliance_view: ViewName = setting(
        "by which view compliance is trained and judged",
        default="observed",
        meanings={"observed": "what Blue saw", "true": "the truth"},
    )
    alignment: AlignmentName = setting(
        "weight of compliance in the reward",
        default="adaptive",
        meanings={"adaptive": "just keeps the threshold"},
    )
    alignment_lambda: float = setting(
        "that weight, in reward per episode; with adaptive its start",
        default=30.0,
        within=(0, None),
    )
    stop_at: StopName = setting(
        "when a training ends",
        default="compliance",
        called="stop rule",
        meanings={
            "compliance": "as soon as the threshold is met",
            "budget": "always after max_episodes",
        },
    )
    replay_rollouts: int = setting(
        "earlier rollouts kept in each update's batch", default=0, within=(0, 1_000)
    )
    units: str | Groups = setting(
        "what a workflow orders: types (the five kinds), hosts, subnets, any (to train on: drawn "
        "for each episode), or a TOML file of groups of hosts",
        default="types",
        read=read_groups,
        basic=True,
        metavar="KIND|FILE",
    )
    require: tuple[str, ...] = setting(
        'units that must come before others, such as "op_server > user"; may be given several '
        "times",
        default=(),
        metavar="UNIT>UNIT",
        unset="nothing",
        repeated=True,
    )
    removal_bonus: float = setting(
        "reward at the beginning for a Remove that ends a session of Red's; it falls to 0 over "
        "the first half of the training",
        default=0.0,
        within=(0, None),
    )
    conditioned: bool = setting("whether the policy is shown the order", flag=None, default=True)
    order_encoding: OrderEncodingName | None = setting(
        "how the policy is shown the order",
        default=None,
        unset="onehot with the units types, else ranks+due",
        meanings={
            "onehot": "which unit stands where",
            "ranks": "each host's place",
            "precedence": "which of two hosts comes first",
            "due": "which marked hosts are next, at every step",
        },
    )
    follow: FollowName = setting(
        "what makes a policy comply",
        default="learned",
        meanings={
            "learned": "the reward alone",
            "shielded": "fixes that would violate the order by Blue's table are masked",
        },
    )
    hidden: tuple[int, ...] = setting(
        "units of the hidden layers, e.g. 64,64",
        default=(64, 64),
        within=(1, 65_536),
        called="units of a hidden layer",
    )
    action_space: ActionSpaceName = setting(
        "what the policy chooses from",
        default="all",
        meanings={
            "all": "the 145 actions",
            "useful": "the 62 of them that can matter",
            "cardiff": "the 36 outputs of the challenge's winner",
        },
    )
    snapshot_every: int = setting(
        "updates after which the policy is kept each time; 0: only the best and the last",
        default=0,
        within=(0, _MOST),
    )

    def __post_init__(self) -> None:
        """Checks the ranges that depend on other settings."""
        whole_number("min_updates", self.min_updates, 1, max(self.max_episodes, _MIN_UPDATES))
        if self.update_steps is not None:
            whole_number("update_steps", self.update_steps, self.n_envs, _MOST)
        if self.units == ANY and self.order_encoding == "onehot":
            raise InvalidInputError(
                "the order encoding onehot is of one choice of units: with the units any "
                "choose another"
            )
        if self.follow == "shielded" and self.action_space == "cardiff":
            raise InvalidInputError(
                "follow shielded needs outputs that are actions: choose the action space all or "
                "useful, not cardiff"
            )
        if self.follow == "shielded" and not self.conditioned:
            raise InvalidInputError(
                "follow shielded needs an order to follow, and this training has none"
            )

    @property
    def shown_order(self) -> OrderEncodingName:
        """How the policy is shown the order."""
        return self.order_encoding or ("onehot" if self.units == "types" else "ranks+due")

    def rollout_steps(self, episode_length: int) -> int:
        """Returns the steps each environment plays for an update."""
        if self.update_steps is None:
            return episode_length * self.update_episodes
        return -(-self.update_steps // self.n_envs)

    def max_updates(self, episode_length: int) -> int:
        """Returns the updates that max_episodes allow.

        Raises:
            InvalidInputError: none at all.
        """
        reason = self.why_no_update(episode_length)
        if reason is not None:
            raise InvalidInputError(reason)
        return self.max_episodes * episode_length // self.rollout_steps(episode_length)

    def why_no_update(self, episode_length: int) -> str | None:
        """Says why max_episodes allow no update, or no whole episode; None if they do."""
        steps = self.rollout_steps(episode_length)
        budget = self.max_episodes * episode_length
        updates = budget // steps
        if not updates:
            return (
                f"this would never update: {self.max_episodes} episodes of {episode_length} steps "
                f"are {budget} steps per environment, but an update needs {steps} "
                f"({steps * self.n_envs} transitions from {self.n_envs} environments)"
            )
        if updates * steps < episode_length:
            return (
                f"this would never finish an episode: {updates} updates of {steps} steps per "
                f"environment are fewer than the {episode_length} steps of an episode"
            )
        return None
