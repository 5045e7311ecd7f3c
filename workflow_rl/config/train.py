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
SideName = Literal["blue", "red"]
ActsName = Literal["deterministic", "sampled"]
ObjectiveName = Literal["episodes", "mean", "worst"]
RedRewardName = Literal["score", "harm"]
VIEWS: Final[tuple[ViewName, ...]] = get_args(ViewName)
ACTION_SPACES: Final[tuple[ActionSpaceName, ...]] = get_args(ActionSpaceName)
_MOST: Final = 10**9
_MIN_UPDATES: Final = 5


@settings
class TrainConfig:
    """How one workflow is trained; the defaults are the preset `parallel200`."""

    n_envs: int = setting("parallel environments", default=200, basic=True, within=(1, MAX_ENVS))
    update_steps: int | None = setting(
        "transitions per update over all environments; at least n_envs",
        default=None,
        within=(1, _MOST),
        unset="update_episodes of each environment",
    )
    update_episodes: int = setting(
        "episodes per environment and update, unless update_steps is set",
        default=1,
        within=(1, _MOST),
    )
    max_episodes: int = setting(
        "maximum episodes per environment", default=50, basic=True, within=(1, _MOST)
    )
    min_updates: int = setting(
        "minimum updates before compliance may end a training, at most max_episodes",
        "--min-episodes",
        default=_MIN_UPDATES,
        basic=True,
        within=(1, _MOST),
        former=("min_episodes",),
    )
    compliance_threshold: float = setting(
        "mean compliance of an update's episodes at which a training ends, 0 to 1",
        default=0.95,
        within=(0, 1),
    )
    compliance_view: ViewName = setting(
        "information by which compliance is rewarded and measured",
        default="observed",
        meanings={"observed": "Blue's observations", "true": "the true state (privileged)"},
    )
    alignment: AlignmentName = setting(
        "weight of compliance in the reward",
        default="adaptive",
        meanings={"adaptive": "adjusted to keep the threshold", "fixed": "alignment_lambda"},
    )
    alignment_lambda: float = setting(
        "weight of compliance, in reward per episode; with adaptive the initial weight",
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
        "earlier rollouts reused in each update's batch", default=0, within=(0, 1_000)
    )
    units: str | Groups = setting(
        "what a workflow orders: types (the five kinds), hosts, subnets, any (sampled for each "
        "episode of a training), or a TOML file of groups of hosts",
        default="types",
        read=read_groups,
        basic=True,
        metavar="KIND|FILE",
    )
    require: tuple[str, ...] = setting(
        'required precedence of units, such as "op_server > user"; may be repeated',
        default=(),
        metavar="UNIT>UNIT",
        unset="nothing",
        repeated=True,
    )
    removal_bonus: float = setting(
        "initial reward for a Remove that ends a Red session; decays to 0 over the first half of "
        "the training",
        default=0.0,
        within=(0, None),
    )
    conditioned: bool = setting(
        "whether the policy is conditioned on the order", flag=None, default=True
    )
    order_encoding: OrderEncodingName | None = setting(
        "how the order is encoded in the policy's input",
        default=None,
        unset="onehot with the units types, else ranks+due",
        meanings={
            "onehot": "position of each unit",
            "ranks": "rank of each host",
            "precedence": "which of two hosts comes first",
            "due": "which marked hosts are next, at every step",
        },
    )
    follow: FollowName = setting(
        "how a policy is made to comply",
        default="learned",
        meanings={
            "learned": "by the reward alone",
            "shielded": "fixes that violate the order, by Blue's observations, are masked",
        },
    )
    hidden: tuple[int, ...] = setting(
        "sizes of the hidden layers, e.g. 64,64",
        default=(64, 64),
        within=(1, 65_536),
        called="the size of a hidden layer",
    )
    action_space: ActionSpaceName = setting(
        "actions that the policy chooses from",
        default="all",
        meanings={
            "all": "all, 145 on scenario2",
            "useful": "the 62 that can have an effect",
            "cardiff": "the 36 outputs of the challenge's winner",
        },
    )
    acts: ActsName = setting(
        "how the trained policy acts when it plays",
        default="deterministic",
        meanings={
            "deterministic": "the most probable action",
            "sampled": "actions are sampled, as in training",
        },
    )
    side: SideName = setting(
        "whose policy is trained",
        default="blue",
        meanings={"blue": "the defender's", "red": "the attacker's, against a fixed defender"},
    )
    against: str | None = setting(
        "with side red: the defender, as `workflow-rl evaluate` names agents",
        default=None,
        metavar="AGENT",
        unset="none",
    )
    against_workflow: str | None = setting(
        "with side red: the order that this defender follows",
        default=None,
        metavar="ORDER",
        unset="the defender's own",
    )
    red_reward: RedRewardName = setting(
        "what Red is rewarded for",
        default="score",
        meanings={
            "score": "all that Blue loses",
            "harm": "that without the price of Blue's own Restores",
        },
    )
    objective: ObjectiveName = setting(
        "the value of a trained workflow",
        default="episodes",
        called="objective",
        meanings={
            "episodes": "the last 3 training episodes of every environment",
            "mean": "the mean over the attackers of a mixture, in fresh games against each",
            "worst": "the attacker that takes most, likewise",
        },
    )
    objective_games: int = setting(
        "with the objective mean or worst: games against each attacker",
        default=300,
        within=(1, 10**6),
    )
    snapshot_every: int = setting(
        "updates between saved snapshots of the policy; 0: only the best and the last",
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
                "the order encoding onehot needs fixed units: with the units any choose another "
                "encoding"
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

        self._check_side()

    def _check_side(self) -> None:
        """Checks what only the training of an attacker has, or must not have."""
        if self.side == "blue":
            for name in ("against", "against_workflow"):
                if getattr(self, name) is not None:
                    raise InvalidInputError(
                        f"{name} names the defender of a training of Red: choose side red"
                    )
            return
        if self.objective != "episodes":
            raise InvalidInputError("the objectives mean and worst are Blue's: choose side blue")
        if self.against is None:
            raise InvalidInputError("a training of side red needs a defender: --against AGENT")
        if self.conditioned:
            raise InvalidInputError("Red follows no order: choose the preset best-response")
        if self.update_steps is not None:
            raise InvalidInputError(
                "Red is trained on whole episodes: choose update_episodes, not update_steps"
            )

    @property
    def shown_order(self) -> OrderEncodingName:
        """How the order is encoded in the policy's input."""
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
        """Returns why max_episodes allow no update, or no whole episode; None if they do."""
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
