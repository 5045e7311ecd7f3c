"""The order as a runbook for people, in Markdown."""

from collections.abc import Iterator
from itertools import pairwise

from workflow_rl.evaluation.scoring import Score
from workflow_rl.ordersearch.finding import PairEffect, listed
from workflow_rl.playbook.handout import Handout
from workflow_rl.playbook.plan import Unit, formatted, names_of
from workflow_rl.report.words import command_of, game_of, percent, points, unfit_for
from workflow_rl.scenario.tables import (
    OT_SERVICE_DOWN_COST,
    RESTORE_COST,
    SHELL_DETECTION_PROBABILITY,
)

_OT_HOST = "Op_Server0"


def runbook(handout: Handout) -> str:
    """Returns the runbook of a run's order."""
    parts = (_head, _order, _deciding, _costs, _what_matters, _evidence, _limits)
    return "\n\n".join("\n".join(part(handout)) for part in parts) + "\n"


def _head(handout: Handout) -> Iterator[str]:
    yield f"# Repair order: {formatted(handout.plan)}"
    yield ""
    how = "found by" if handout.run.is_search else "given to"
    yield (
        f"Which compromised machines to fix first, as {how} the run {_code(handout.run.name)} "
        f"of {handout.created:%Y-%m-%d} ({game_of(handout.run)})."
    )
    if not handout.recommended.is_compliant:
        yield ""
        yield (
            "**Take it with care**: the policy trained for this order does not reach the "
            f"compliance asked for ({percent(handout.config.train.compliance_threshold)})."
        )


def _order(handout: Handout) -> Iterator[str]:
    yield "## What to fix first"
    yield ""
    for number, unit in enumerate(handout.plan, start=1):
        yield f"{number}. **{unit.name}**: {', '.join(unit.hosts)}"


def _deciding(handout: Handout) -> Iterator[str]:
    removable = [host for unit in handout.plan for host in unit.removable]
    yield "## How to decide between marked hosts"
    yield ""
    yield "A host is marked when your table says Unknown, User or Privileged of it. Every step:"
    yield ""
    yield "1. Go down the list above to the first unit with a marked host. It is its turn."
    yield (
        "2. Fix one of its marked hosts. Which of several is left to you: each of them follows "
        "the order."
    )
    yield (
        f"3. If the host is marked User and is one of {', '.join(removable)}, Remove: that is "
        "free, and ends a shell that was seen. In every other case Restore."
    )
    yield (
        "4. A Remove leaves the mark Unknown, whether it worked or not: the host stays due until a "
        "Restore clears the mark, and a second Remove does nothing."
    )
    yield "5. Look again before the next fix: a mark further up the list comes first."
    yield (
        "6. While nothing is marked there is nothing to fix: place decoys, or wait. Fixing an "
        "unmarked host while another is marked breaks the order."
    )


def _costs(handout: Handout) -> Iterator[str]:
    yield "## What each step costs"
    yield ""
    yield "| unit | cost of a step while Red is privileged there | Remove | Restore |"
    yield "|---|---|---|---|"
    for unit in handout.plan:
        yield f"| {unit.name} | {_prices(unit)} | {_remove(unit)} | {RESTORE_COST:.1f} |"
    yield ""
    yield (
        "- Remove costs nothing. It kills user-level shells that were seen; privileged sessions, "
        f"SSH logins and the {percent(1 - SHELL_DETECTION_PROBABILITY)} of shells that nobody sees "
        "survive it, and it always reports success."
    )
    yield (
        f"- Restore costs {RESTORE_COST:.1f}, on a clean host too. It ends everything Red has on "
        "the host, and takes its decoys away."
    )
    yield (
        f"- A stopped OT service on {_OT_HOST} costs {OT_SERVICE_DOWN_COST:.1f} in every step. "
        f"Restoring {_OT_HOST} starts it again, and it cannot be stopped any more."
    )
    yield "- A user-level session costs nothing by itself: it is the way to a privileged one."


def _prices(unit: Unit) -> str:
    if len(unit.costs) == 1:
        return f"{next(iter(unit.costs)):.1f} a host"
    return "; ".join(f"{price:.1f} {', '.join(hosts)}" for price, hosts in unit.costs.items())


def _remove(unit: Unit) -> str:
    if not unit.removable:
        return "does not help"
    return "0" if unit.removable == unit.hosts else f"0, on {', '.join(unit.removable)} only"


def _what_matters(handout: Handout) -> Iterator[str]:
    yield "## Which part of the order matters"
    yield ""
    if handout.run.is_search:
        headline = handout.finding.headline
        yield f"{headline[:1].upper()}{headline[1:]}."
        yield ""
    for pair, kept in handout.effects:
        against = "" if kept else "; **this order has it the other way round**"
        yield (
            f"- {pair.first} before {pair.second}: worth {_interval(pair)} points per "
            f"{handout.config.game.episode_length} steps{against}."
        )
    if not handout.pairs:
        yield "- Too few trials have ended to say which part matters: keep to the whole order."
    elif not handout.effects:
        yield (
            "- No pair of units has a clear effect: with so many pairs looked at, chance could "
            "explain any of them."
        )
    if handout.finding.either:
        yield f"- Keep to all of these: {', '.join(map(str, handout.finding.either))}."
    yield from (f"- {pair}." for pair in handout.finding.unmet)
    idle = [name for name in names_of(handout.plan) if name in handout.finding.idle]
    if idle:
        yield (
            f"- The place of {' and of '.join(idle)} makes no difference, by the rules of the "
            f"game: {handout.config.game.red_agent} leaves no mark there."
        )
    if swaps := list(_swaps(handout)):
        yield "- Neighbours in the order that may change places as far as the trials tell:"
        yield from (f"    - {line}" for line in swaps)


def _swaps(handout: Handout) -> Iterator[str]:
    """Yields the neighbours in the order whose arrangement has no clear effect.

    Those whose other arrangement was tried and never complied with stay as they are.
    """
    kept = (*handout.finding.clear, *handout.finding.either)
    unmet = {(pair.first, pair.second) for pair in handout.finding.unmet}
    unclear = {frozenset((p.first, p.second)): p for p in handout.pairs if p not in kept}
    for first, second in pairwise(names_of(handout.plan)):
        pair = unclear.get(frozenset((first, second)))
        if pair is not None and (second, first) not in unmet:
            yield f"{first}, {second} ({pair.first} first is worth {_interval(pair)})"


def _interval(pair: PairEffect) -> str:
    worth = pair.worth
    return f"{worth.mean:.1f} (95 % interval {worth.low:.1f} to {worth.high:.1f})"


def _evidence(handout: Handout) -> Iterator[str]:
    mine, seen = handout.recommended, handout.run.tried
    yield "## The evidence"
    yield ""
    if seen:
        orders, compliant = len({o.order for o in seen}), sum(o.is_compliant for o in seen)
        yield (
            f"- {len(seen)} trials of {orders} orders, a policy trained in each; {compliant} "
            f"reached a compliance of {percent(handout.config.train.compliance_threshold)}."
        )
    yield f"- Why this order: {mine.reason}."
    reward = f"{points(mine.result.reward.mean)} ± {points(mine.result.reward.half_width)}"
    games = f"{mine.result.games:,} fresh games"
    basis = games if mine.scores else f"the last {mine.result.games:,} training episodes"
    yield (
        f"- The policy trained for it: {reward} points per "
        f"{handout.config.game.episode_length} steps (mean of {basis}, "
        f"95 % interval; 0 is perfect), compliance {percent(mine.result.compliance.mean)}, by "
        f"where Red really was {percent(mine.result.compliance_true.mean)}."
    )
    if mine.scores:
        yield ""
        yield (
            "| attacker | met in the run | trained policy | its compliance | the order by hand |"
        )
        yield "|---|---|---|---|---|"
        yield from (_score_row(score, handout) for score in mine.scores)
        yield ""
        yield (
            "By hand is the rule above without any training: the first marked host is fixed, "
            "decoys are placed while none is marked."
        )
    repeat = command_of(handout.run.noted)
    if repeat is not None:
        yield ""
        yield f"Found by {_code(repeat)}, seed {handout.config.seed}."


def _score_row(score: Score, handout: Handout) -> str:
    cells = (
        score.red_agent,
        "yes" if score.red_agent in handout.attackers else "no",
        str(score.deterministic.reward),
        percent(score.deterministic.compliance.mean),
        str(score.greedy.reward),
    )
    return f"| {' | '.join(cells)} |"


def _limits(handout: Handout) -> Iterator[str]:
    rules = handout.config.game.rules
    yield "## For which attackers it holds"
    yield ""
    verb = "searched" if handout.run.is_search else "trained for"
    yield (
        f"The order was {verb} against {listed(handout.attackers)}, under the rules "
        f"{rules}, with {handout.config.game.episode_length} steps an episode. For other "
        "attackers, rules or networks it is a guess."
    )
    for score in handout.recommended.scores:
        if score.is_unfit:
            yield ""
            yield f"The trained policy: {unfit_for(score)}"
    yield ""
    yield (
        "The network is that of CAGE Challenge 2, simulated: 13 hosts, of which User0 is Red's for "
        "good and is not to be fixed."
    )


def _code(text: str) -> str:
    """Writes any text as code within a line."""
    plain = "".join(c if c.isprintable() else "?" for c in text).replace("`", "'")
    return f"`{plain}`"
