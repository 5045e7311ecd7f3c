"""What a finished run hands over: its order, and what is known of it."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.selection import Score
from workflow_rl.ordersearch.finding import Finding
from workflow_rl.pages.findings import Recommended, answer_in
from workflow_rl.pages.rundata import RunData, read_run, refuse_no_run
from workflow_rl.playbook.plan import Plan, plan_of
from workflow_rl.runs.store import CONFIG_FILE, SCORES_FILE
from workflow_rl.scenario.network_toml import toml_of

_KEPT: Final = ("first", "second", "worth", "is_clear")  # of what is known of a pair


@dataclass(frozen=True)
class Handout:
    """A run's recommended order with the evidence for it."""

    run: RunData
    config: ExperimentConfig
    created: datetime  # when the run began
    plan: Plan
    recommended: Recommended
    finding: Finding  # about orders

    @property
    def attackers(self) -> tuple[str, ...]:
        """The red agents that the order was searched against."""
        return tuple(red.name for red in self.config.game.reds if red.weight > 0)

    def facts(self) -> dict[str, Any]:
        """Returns the evidence as plain data."""
        game, mine, finding = self.config.game, self.recommended, self.finding
        return {
            "run": {
                "name": self.run.name,
                "created": self.created.isoformat(),
                "revision": self.run.revision,
                "seed": self.config.seed,
                "rules": game.rules,
                **({} if game.is_scenario2 else {"network": game.network.name}),
                "red_agent": game.red_agent,
                "episode_length": game.episode_length,
            },
            **({} if game.is_scenario2 else {"network": toml_of(game.network)}),
            "evidence": {
                "trials": finding.tried,
                "compliant_trials": finding.compliant,
                "compliance_threshold": self.config.train.compliance_threshold,
                "is_compliant": mine.is_compliant,
                "reason": mine.reason,
                "result": mine.result.as_json(),
                "by_attacker": [_facts(score) for score in mine.scores],
                **({} if mine.holding is None else {"holding": mine.holding.as_json()}),
                "finding": finding.headline,
                "pairs": [{n: pair[n] for n in _KEPT} for pair in map(asdict, finding.effects)],
                "worth": [one.as_json() for one in finding.measured],
            },
        }


def _facts(score: Score) -> dict[str, Any]:
    """Returns a score as plain data, of the policy's actions only the share of each kind."""
    return score.as_json() | {"actions": score.behaviour and score.behaviour.shares}


def handout_of(path: Path) -> Handout:
    """Reads what a finished search, or training of one workflow, hands over.

    Raises:
        InvalidInputError: it is no run, it has not come to its end, or it recommends no order.
    """
    refuse_no_run(path)
    run = read_run(path, curves=False)
    if not run.is_finished:
        how = "is still under way" if run.is_live else "was interrupted: go on with --resume"
        raise InvalidInputError(f"{path} has no recommendation yet: the run {how}")
    if run.config is None or not (run.policy or run.trained):
        raise InvalidInputError(
            f"{path} recommends no order that can be read: {CONFIG_FILE} or {SCORES_FILE} is "
            "damaged or of another version"
        )
    finding, mine = answer_in(run)
    if mine is None:
        raise InvalidInputError(
            f"{path} recommends no order: only a search, or a training of one workflow, does"
        )
    return Handout(
        run=run,
        config=run.config,
        created=_moment(path, run.noted.get("created")),
        plan=plan_of(run.orders[mine.order]),
        recommended=mine,
        finding=finding,
    )


def _moment(path: Path, noted: Any) -> datetime:
    try:
        found = datetime.fromisoformat(noted)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{path / CONFIG_FILE} does not say when the run began") from error
