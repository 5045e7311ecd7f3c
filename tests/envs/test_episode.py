"""An episode that can be walked through."""

import numpy as np

from workflow_rl.config import GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.scenario.actions import SLEEP, parse_action

DECOY = parse_action("DecoyApache User1")


def played(*actions: int) -> Episode:
    """Returns an episode after some actions."""
    episode = Episode(GameConfig(red_agent="meander", observation="memory"), seed=3)
    for action in actions:
        episode.act(action)
    return episode


def test_another_action_from_the_past_leads_where_it_would_have_led_at_first() -> None:
    episode = played(SLEEP, DECOY, SLEEP)
    assert not episode.moment.action_mask[DECOY]
    episode.go_to(1)
    episode.act(SLEEP)
    direct = played(SLEEP, SLEEP).moment
    assert episode.length == 2
    assert episode.moment.action_mask[DECOY]
    assert (episode.moment.action_mask == direct.action_mask).all()
    assert (episode.moment.observation == direct.observation).all()
    assert episode.moment.state == direct.state
    assert episode.moment.total == direct.total


def test_the_same_actions_lead_to_the_same_future() -> None:
    rng = np.random.default_rng(0)
    actions = [int(a) for a in rng.integers(0, 145, 20)]
    episode = played(*actions)
    episode.go_to(5)
    for action in actions[5:]:
        episode.act(action)
    assert all(
        a.state == b.state and (a.observation == b.observation).all()
        for a, b in zip(episode.moments, played(*actions).moments, strict=True)
    )
