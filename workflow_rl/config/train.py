"""How one workflow is trained."""

from typing import Annotated, Final, Literal, get_args

from workflow_rl.config.checks import whole_number
from workflow_rl.config.game import MAX_ENVS
from workflow_rl.config.setting import Setting, settings
from workflow_rl.config.units import ANY, UnitsSetting
from workflow_rl.errors import InvalidInputError

ViewName = Literal["observed", "true"]
AlignmentName = Literal["adaptive", "fixed"]
StopName = Literal["compliance", "budget"]
ActionSpaceName = Literal["all", "useful", "cardiff"]
OrderEncodingName = Literal["onehot", "ranks", "precedence", "due", "ranks+due", "precedence+due"]
FollowName = Literal["learned", "shielded"]
VIEWS: Final[tuple[ViewName, ...]] = get_args(ViewName)
ALIGNMENTS: Final[tuple[AlignmentName, ...]] = get_args(AlignmentName)
STOPS: Final[tuple[StopName, ...]] = get_args(StopName)
ACTION_SPACES: Final[tuple[ActionSpaceName, ...]] = get_args(ActionSpaceName)
ORDER_ENCODINGS: Final[tuple[OrderEncodingName, ...]] = get_args(OrderEncodingName)
FOLLOWS: Final[tuple[FollowName, ...]] = get_args(FollowName)
_MOST: Final = 10**9
_MIN_UPDATES: Final = 5


@settings
class TrainConfig:
    """How one workflow is trained; the defaults are the preset `parallel200`."""

    n_envs: Annotated[
        int,
        Setting(
            "environments that play side by side", ("--n-envs",), basic=True, low=1, high=MAX_ENVS
        ),
    ] = 200
    update_steps: Annotated[
        int | None,
        Setting(
            "transitions per update, all environments together; at least n_envs",
            ("--update-steps",),
            low=1,
            high=_MOST,
            unset="whole episodes of each",
        ),
    ] = None
    update_episodes: Annotated[
        int,
        Setting(
            "episodes per environment of an update, where update_steps does not say otherwise",
            ("--update-episodes",),
            low=1,
            high=_MOST,
        ),
    ] = 1
    max_episodes: Annotated[
        int,
        Setting(
            "episodes per environment at most", ("--max-episodes",), basic=True, low=1, high=_MOST
        ),
    ] = 50
    min_updates: Annotated[
        int,
        Setting(
            "updates before compliance may end a training, at most max_episodes",
            ("--min-updates", "--min-episodes"),
            basic=True,
            low=1,
            high=_MOST,
            former=("min_episodes",),
        ),
    ] = _MIN_UPDATES
    compliance_threshold: Annotated[
        float,
        Setting(
            "mean compliance of an update's episodes that ends a training, 0 to 1",
            ("--compliance-threshold",),
            low=0,
            high=1,
        ),
    ] = 0.95
    compliance_view: Annotated[
        ViewName,
        Setting(
            "by which view compliance is trained and judged",
            ("--compliance-view",),
            meanings={"observed": "what Blue saw", "true": "the truth"},
        ),
    ] = "observed"
    alignment: Annotated[
        AlignmentName,
        Setting(
            "weight of compliance in the reward",
            ("--alignment",),
            meanings={"adaptive": "just keeps the threshold"},
        ),
    ] = "adaptive"
    alignment_lambda: Annotated[
        float,
        Setting(
            "that weight, in reward per episode; with adaptive its start",
            ("--alignment-lambda",),
            low=0,
        ),
    ] = 30.0
    stop_at: Annotated[
        StopName,
        Setting(
            "when a training ends",
            ("--stop-at",),
            called="stop rule",
            meanings={
                "compliance": "as soon as the threshold is met",
                "budget": "always after max_episodes",
            },
        ),
    ] = "compliance"
    replay_rollouts: Annotated[
        int,
        Setting(
            "earlier rollouts kept in each update's batch",
            ("--replay-rollouts",),
            low=0,
            high=1_000,
        ),
    ] = 0
    units: UnitsSetting = "types"
    require: Annotated[
        tuple[str, ...],
        Setting(
            'units that must come before others, such as "op_server > user"; may be given several '
            "times",
            ("--require",),
            metavar="UNIT>UNIT",
            unset="nothing",
            repeated=True,
        ),
    ] = ()
    removal_bonus: Annotated[
        float,
        Setting(
            "reward at the beginning for a Remove that ends a session of Red's; it falls to 0 over "
            "the first half of the training",
            ("--removal-bonus",),
            low=0,
        ),
    ] = 0.0
    conditioned: Annotated[bool, Setting("whether the policy is shown the order")] = True
    order_encoding: Annotated[
        OrderEncodingName | None,
        Setting(
            "how the policy is shown the order",
            ("--order-encoding",),
            unset="onehot with the units types, else ranks+due",
            meanings={
                "onehot": "which unit stands where",
                "ranks": "each host's place",
                "precedence": "which of two hosts comes first",
                "due": "which marked hosts are next, told in every step",
            },
        ),
    ] = None
    follow: Annotated[
        FollowName,
        Setting(
            "what makes a policy comply",
            ("--follow",),
            meanings={
                "learned": "the reward alone",
                "shielded": "fixes that would violate the order by Blue's table are masked",
            },
        ),
    ] = "learned"
    hidden: Annotated[
        tuple[int, ...],
        Setting(
            "units of the hidden layers, e.g. 64,64",
            ("--hidden",),
            low=1,
            high=65_536,
            called="units of a hidden layer",
        ),
    ] = (64, 64)
    action_space: Annotated[
        ActionSpaceName,
        Setting(
            "what the policy chooses from",
            ("--action-space",),
            meanings={
                "all": "the 145 actions",
                "useful": "the 62 of them that can matter",
                "cardiff": "the 36 outputs of the challenge's winner",
            },
        ),
    ] = "all"
    snapshot_every: Annotated[
        int,
        Setting(
            "updates after which the policy is kept each time; 0: only the best and the last",
            ("--snapshot-every",),
            low=0,
            high=_MOST,
        ),
    ] = 0

    def __post_init__(self) -> None:
        """Checks the ranges that depend on other settings."""
        whole_number("min_updates", self.min_updates, 1, max(self.max_episodes, _MIN_UPDATES))
        if self.update_steps is not None:
            whole_number("update_steps", self.update_steps, self.n_envs, _MOST)
        if self.units == ANY and self.order_encoding == "onehot":
            raise InvalidInputError(
                "the order encoding onehot tells orders of one choice of units: with the units any "
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
