"""The report's sentences: what each section says before its figure shows it."""

import math
import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.evaluation.selection import Score
from workflow_rl.report.findings import Findings
from workflow_rl.report.rundata import RunData


def points(value: float) -> str:
    """Writes a reward."""
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def percent(value: float) -> str:
    """Writes a share."""
    return "unknown" if math.isnan(value) else f"{100 * value:.1f} %"


def duration(seconds: float) -> str:
    """Writes a time."""
    if math.isnan(seconds):
        return "unknown"
    whole = round(seconds)
    if whole < 120:
        return f"{seconds:.0f} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def amount(value: float) -> str:
    """Writes a large number."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} million"
    return f"{value:,.0f}"


def kept_together(text: str) -> str:
    """Returns a sentence that never breaks between a number and its sign."""
    return text.replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def status_of(run: RunData) -> str:
    """Says in a word or two how far a run is."""
    if run.is_under_way:
        return "under way"
    return "finished" if run.is_finished else "interrupted"


def game_of(run: RunData) -> str:
    """Says which game a run was played on."""
    if run.config is None:
        return "the game is not known"
    game = run.config.game
    red: str = game.red_agent
    if game.red_probabilities is not None:
        shares = (f"{name} {percent(share)}" for name, share in game.red_probabilities.items())
        red += f" ({', '.join(shares)})"
    green = ", Green active" if game.green_agent == "active" else ""
    return f"red agent {red}, rules {game.rules}, {game.episode_length} steps{green}"


def about_finding(found: Findings) -> list[str]:
    """Says what was found about orders: the headline, then what else there is to say."""
    if not found.run.is_search:
        return []
    if not found.run.tried:
        return ["Nothing can be recommended yet: no trial has ended."]
    finding = found.finding
    so_far = "" if found.run.is_finished else "So far: "
    headline = finding.headline if so_far else finding.headline[:1].upper() + finding.headline[1:]
    return [f"{so_far}{headline}.", *finding.details]


def about_example(found: Findings) -> str:
    """Says what the one order is that is shown and handed over."""
    mine, equal = found.recommended, found.finding.equal_orders
    assert mine is not None
    if not found.finding.compliant:
        return "The order that came closest to complying:"
    if mine.order not in found.finding.equals or equal == 1:
        return "The recommended order:"
    return f"One of the {equal:,} equal orders, as an example:"


def about_recommendation(found: Findings) -> list[str]:
    """Says how the shown order was chosen and how its policy was measured."""
    mine = found.recommended
    if mine is None and not found.run.is_search:
        return ["This is not a search but a training: there is nothing to recommend."]
    if mine is None:
        return []
    if not found.run.is_search:
        text = [f"This is not a search but a training of one workflow: {mine.reason}."]
    elif mine.is_final:
        text = [f"Why this one: {mine.reason}."]
    else:
        text = [f"The search has not ended; so far it would be this one: {mine.reason}."]
    games = f"{mine.result.games:,}"
    if mine.scores:
        text.append(
            f"The reward is the saved policy's, the mean of {games} games that were used for "
            "nothing else, the most probable action taken; ± is its 95 % interval. The trials' "
            "rewards below are another measure: each environment's last 3 training episodes."
        )
        text += about_universal(found.run)
        text += [unfit_for(score) for score in mine.scores if score.is_unfit]
    else:
        text.append(
            f"The reward is the mean of the last {games} episodes at the end of its training, the "
            "policy drawing its actions; ± is its 95 % interval."
        )
    if not mine.is_compliant:
        text.append("It does not reach the compliance asked for: take it with care.")
    if found.beliefs is not None and found.run.is_search:
        believed = found.beliefs.of(mine.order)
        text.append(
            f"Of the order itself, trained as briefly as every trial, the search believes "
            f"{points(believed.mean)} ± {points(believed.half_width)}: what its Gaussian process "
            "expects of another such training, the luck of single trials taken out."
        )
    return text


def about_universal(run: RunData) -> list[str]:
    """Says how `universal` came to be what a search hands over, if it did."""
    if run.policy is None or run.config is None or run.config.handed_over != UNIVERSAL:
        return []
    how = "as it comes with the package: training it further made it no better"
    if run.policy.trained_further:
        how = "trained further for this one against all attackers"
    return [
        f"The policy is “universal”, which follows any order, {how}. The trials' own policies are "
        "others."
    ]


def unfit_for(score: Score) -> str:
    """Says that a policy fails against a red agent."""
    return (
        f"Unfit for {score.red_agent}: {score.deterministic.reward.mean:.1f}, where repairing by "
        f"the order without any training gets {score.greedy.reward.mean:.1f}."
    )


def about_scores(found: Findings) -> str:
    """Says what the policy is compared with."""
    rules = found.run.config.game.rules if found.run.config else "unknown"
    if not found.scores:
        return "No score to compare with is known for this red agent and episode length."
    return (
        f"Filled marks were scored under the same rules ({rules}); open ones under others, which "
        "are not comparable: the published leaderboard belongs to the rules of the competition."
    )


def all_orders(found: Findings) -> str:
    """Names the table of orders: all of them, or those tried."""
    orders = found.run.orders
    if orders.is_listable:
        return f"All {orders.count:,} orders"
    return f"The orders tried, of {orders.count:,}"


def about_beliefs(found: Findings) -> str:
    """Says what the belief about all orders rests on."""
    beliefs, orders = found.beliefs, found.run.orders
    if beliefs is None:
        return "No trial has ended, so nothing is believed of any order yet."
    n = beliefs.trials
    basis = f"the {n} compliant trials" if beliefs.only_compliant else f"all {n} trials"
    caution = "" if beliefs.only_compliant else ", because fewer than two complied"
    fitted = beliefs.posterior
    return (
        f"A Gaussian process fitted to {basis}{caution} says what to expect of each of the "
        f"{orders.count:,} orders. Orders that agree on most pairs are taken to be alike (length "
        f"scale {fitted.lengthscale:.1f} pairs); one trial scatters by ± {fitted.noise:.2f} around "
        "its order's value."
    )


def about_pairs(found: Findings) -> str:
    """Says what the figure of pairs rests on."""
    finding = found.finding
    if not finding.effects:
        return "Too few trials have complied to say what matters."
    marked = "effects that are clear" if finding.clear else "no effect is clear"
    if finding.either:
        marked += ", pairs of which at least one matters and the trials cannot tell which"
    return (
        f"What it is worth to fix one unit before another, by the {finding.compliant} compliant "
        f"trials, all other pairs as they are: {marked}, and pairs without an effect that shows."
    )


def about_path(found: Findings) -> str:
    """Says how the search went."""
    ended = [step for step in found.path if not math.isnan(step.got.mean)]
    if not ended:
        return "No trial has ended yet."
    compliant = sum(step.is_compliant for step in ended)
    distinct = len({step.trial.order for step in ended})
    text = (
        f"{len(ended)} trials of {distinct} different orders; {compliant} complied. Filled marks "
        "complied, open ones did not; the bars show what was expected before the trial."
    )
    best = [step.best for step in ended if not math.isnan(step.best)]
    if best:
        first = next(step.trial.number for step in ended if step.best == best[-1])
        text += f" The best compliant trial was number {first + 1}, at {points(best[-1])}."
    regret = ended[-1].regret
    if not math.isnan(regret):
        text += (
            f" By the landscape the best of all orders is {points(regret)} better than that one."
        )
    return text


def about_cost(found: Findings) -> str:
    """Says what the run cost."""
    cost = found.cost
    if cost is None or not cost.seconds:
        return "No update has been made yet."
    policy = found.run.policy
    took = "" if policy is None else f" The run took {duration(policy.seconds)} in all."
    shares = [
        f"{100 * seconds / cost.seconds:.0f} % {what}"
        for what, seconds in (
            ("simulating", cost.simulate_seconds),
            ("choosing actions", cost.infer_seconds),
            ("learning", cost.update_seconds),
        )
    ]
    return (
        f"{amount(cost.transitions)} transitions in {duration(cost.seconds)} of training, "
        f"{amount(cost.transitions / cost.seconds)} per second: {', '.join(shares)}.{took}"
    )


def about_trainings(run: RunData, shown: int) -> str:
    """Says what the learning curves show, and of how many trainings."""
    if not run.curves:
        return "No update has been made yet."
    view = run.config.train.compliance_view if run.config else "observed"
    of = len(run.trial_curves)
    left_out = f" The {shown} best of {of} trials are shown." if shown < of else ""
    return (
        "Each line is one training; pick one to highlight it. Trials start from the common base "
        f"policy unless the configuration says otherwise. Compliance is shown by what Blue saw; "
        f"trained and judged was the {view} one, against the dashed threshold.{left_out}"
    )


def command_of(noted: Mapping[str, Any]) -> str | None:
    """Returns the command that repeats a run; None if it was not started from the command line."""
    command = noted.get("command")
    if not isinstance(command, list) or not command:
        return None
    program = PurePath(str(command[0])).name
    rest = [str(word) for word in command[1:]]
    if program in ("workflow-rl", "__main__.py"):
        return shlex.join(["workflow-rl", *rest])
    if program == "parallel_train_workflow_rl.py":
        return shlex.join(["python", f"workflow_rl/{program}", *rest])
    return None
