"""What a search recommends to people: of the best orders the one that scores best by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.ordersearch.quick import EVERY, HOSTS, complied, failed, trials_of
from tests.pages.runs import pairwise
from tests.refused import refused
from tests.runs.toy import tiny
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.selection import CHOOSING_SEED
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.pages.findings import answer_in
from workflow_rl.pages.rundata import read_run
from workflow_rl.runs.answer import ByHand, answer_of, score_by_hand
from workflow_rl.workflow.orders import ORDERS, TYPES

TOY = tiny()
ATTACKERS = ("bline", "meander")
PAIR = [10.0 if pair == (1, 4) else 0.0 for pair in TYPES.pairs]  # enterprise before user
SEEN = trials_of(EVERY[::6], pairwise(PAIR)[::6] + [0.1 * (-1) ** k for k in range(20)])
HAS_IT = {o for o in range(120) if ORDERS[o].index("enterprise") < ORDERS[o].index("user")}


def by_hand(values: dict[int, float]) -> ByHand:
    """The same against every attacker, but for a point."""
    return ByHand(
        {
            order: tuple(
                Result(red, 9, Estimate(mean + k))
                for k, red in zip((-1, 1), ATTACKERS, strict=True)
            )
            for order, mean in values.items()
        }
    )


def test_all_120_orders_are_played_once_by_greedy_against_every_attacker(tmp_path: Path) -> None:
    found = score_by_hand(tmp_path, TOY, TYPES, SEEN)
    assert set(found.results) == set(range(120))
    for red, mine in zip(ATTACKERS, found.results[37], strict=True):
        game = TOY.game.changed(red_agent=red)
        games = TOY.search.score_games
        cell = play_batch(GreedyAgent(ORDERS[37]), game, CHOOSING_SEED, games)
        assert mine == cell.result
    file = tmp_path / "by_hand.json"
    assert ByHand.load(tmp_path, TYPES) == found
    data = json.loads(file.read_text())  # what is there is not played again, what is missing is
    data["orders"][TYPES.format(5)][0]["reward"]["mean"] = 77.0
    del data["orders"][TYPES.format(6)]
    file.write_text(json.dumps(data))
    again = score_by_hand(tmp_path, TOY, TYPES, SEEN)
    assert again.results[5][0].reward.mean == 77.0
    assert again.results[6] == found.results[6]
    file.write_text('{"orders": {"nonsense": []}}')
    refused("by_hand.json is damaged", score_by_hand, tmp_path, TOY, TYPES, SEEN)


def test_of_too_many_orders_those_tried_and_a_sample_are_played(tmp_path: Path) -> None:
    config = tiny(episode_length=3, score_games=2)
    tried = HOSTS.draw(np.random.default_rng(0), 6).tolist()
    seen = trials_of(tried, [-10.0, -11.0, -12.0, -10.5, -11.5, -12.5])
    found = score_by_hand(tmp_path, config, HOSTS, seen)
    assert set(tried) < set(found.results)
    assert len(found.results) == 66


def test_with_too_few_trials_nothing_is_played(tmp_path: Path) -> None:
    found = score_by_hand(tmp_path, TOY, TYPES, [complied(k) for k in range(3)])
    assert found.results == {}
    assert not (tmp_path / "by_hand.json").exists()


@pytest.mark.parametrize("kind", ["universal", "documented"])
def test_of_the_best_orders_the_one_that_is_best_by_hand_is_recommended(kind: str) -> None:
    best, tried = min(HAS_IT - set(range(0, 120, 6))), max(HAS_IT & set(range(0, 120, 6)))
    values = dict.fromkeys(range(120), -50.0) | {best: -20.0, tried: -30.0}
    values[next(iter(set(range(120)) - HAS_IT))] = -1.0  # the pair is worth more than that
    config = ExperimentConfig(search=tiny(polish=kind, polish_updates=2).search)
    finding, given = answer_of(config, TYPES, SEEN, by_hand(values))
    assert set(finding.best) == HAS_IT
    assert given.order == (best if kind == "universal" else tried)
    assert given.by_hand == pytest.approx(values[given.order])


def test_an_order_that_failed_to_comply_is_not_recommended_however_good_by_hand() -> None:
    bad = min(HAS_IT - set(range(0, 120, 6)))
    seen: list[TriedOrder] = [*SEEN, failed(bad)]
    values = dict.fromkeys(range(120), -50.0) | {bad: -1.0}
    assert answer_of(ExperimentConfig(), TYPES, seen, by_hand(values))[1].order != bad


def test_a_search_hands_over_the_policy_of_the_order_that_is_best_by_hand(real_run: Path) -> None:
    run = read_run(real_run, curves=False)
    assert set(run.by_hand.results) == set(range(120))
    finding, chosen = answer_in(run)
    failed = {t.order for t in run.trials} - {t.order for t in run.tried if t.is_compliant}
    able = set(finding.best) - failed
    assert chosen is not None
    highest = max(run.by_hand.reward(order).mean for order in able)
    assert chosen.order in able
    assert run.by_hand.reward(chosen.order).mean == highest
    assert load_policy(real_run).order == ORDERS[chosen.order]
    assert "by_hand.json" in (real_run / "manifest.json").read_text()
