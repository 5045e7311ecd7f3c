"""An episode that can be walked through."""

import numpy as np
import pytest

from workflow_rl.config import GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import SLEEP, parse_action

DECOY = parse_action("DecoyApache User1")


def played(*actions: int) -> Episode:
    """Returns an episode after some actions."""
    episode = Episode(GameConfig(red_agent="meander", observation="memory"), seed=3)
    for action in actions:
        episode.act(action)
    return episode


def new_episode(seed: int = 0, **config: object) -> Episode:
    return Episode(GameConfig(**{"red_agent": "meander"} | config), seed)  # type: ignore[arg-type]


def texts(episode: Episode, actions: list[int]) -> list[str]:
    """Plays the actions and returns what each moment looks like."""
    seen = [episode.text()]
    for action in actions:
        episode.act(action)
        seen.append(episode.text())
    return seen


def states_of(episode: Episode) -> list[list[object]]:
    """Returns every field of every moment played."""
    states = []
    for position in range(episode.length + 1):
        episode.go_to(position)
        state = episode.moment.state
        states.append([state[name].tolist() for name in state.dtype.names])
    return states


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


def test_going_back_and_repeating_leads_to_the_same_future() -> None:
    episode = new_episode()
    actions = [51, 0, 139, 12, 25, 0, 142, 30, 0, 17]
    first = texts(episode, actions)
    states = states_of(episode)
    episode.go_to(0)
    assert texts(episode, actions) == first
    assert states_of(episode) == states
    assert texts(new_episode(), actions) == first
    assert texts(new_episode(seed=1), actions) != first


def test_moving_in_time_changes_nothing_that_was_played() -> None:
    episode = new_episode()
    seen = texts(episode, [0, 51, 0, 134, 0])
    for position in (3, 0, 5, 1):
        episode.go_to(position)
        assert episode.text() == seen[position]
    for position in (2, 3, 4, 5):
        episode.forward()
        assert (episode.position, episode.text()) == (position, seen[position])
    assert episode.length == 5


def test_another_action_begins_another_branch() -> None:
    episode = new_episode()
    seen = texts(episode, [SLEEP] * 8)
    episode.go_to(3)
    episode.act(parse_action("Restore User1"))
    assert episode.length == 4  # the old future is gone
    assert "Restore User1" in episode.text()
    assert episode.text() != seen[4]
    episode.back()
    episode.act(SLEEP)
    assert episode.text() == seen[4]


def test_chance_at_a_step_does_not_depend_on_how_it_was_reached() -> None:
    direct, wandering = new_episode(), new_episode()
    for _ in range(6):
        direct.act(SLEEP)
    for _ in range(3):
        wandering.act(SLEEP)
    wandering.go_to(0)
    for _ in range(6):
        wandering.act(SLEEP)
    assert wandering.text() == direct.text()


def test_an_episode_begins_and_ends() -> None:
    episode = new_episode(episode_length=3)
    episode.back()
    assert (episode.position, episode.has_ended) == (0, False)
    episode.forward()
    assert (episode.position, episode.length) == (0, 0)  # looking plays nothing
    for _ in range(3):
        episode.act(SLEEP)
    episode.forward()
    assert (episode.position, episode.length, episode.has_ended) == (3, 3, True)
    with pytest.raises(InvalidInputError, match="ended after 3 steps"):
        episode.act(SLEEP)
    assert "step 3 of 3" in episode.text()
    episode.go_to(99)
    assert episode.position == 3
    episode.go_to(-1)
    assert episode.position == 0
    episode.go_to(2)
    episode.act(parse_action("Restore User0"))  # going back opens it again
    assert episode.has_ended


def test_the_return_belongs_to_the_moment() -> None:
    episode = new_episode()
    episode.act(parse_action("Restore User1"))
    episode.act(parse_action("Restore User1"))
    assert "return so far -2.0" in episode.text()
    episode.back()
    assert "return so far -1.0" in episode.text()


def test_a_moment_fits_a_narrow_terminal() -> None:
    episode = new_episode()
    for name in ("Apache", "HarakaSMPT", "Tomcat", "Vsftpd"):
        episode.act(parse_action(f"Decoy{name} Op_Server0"))
    wide, narrow = episode.text(), episode.text(width=80)
    assert "Apache HarakaSMPT Tomcat Vsftpd" in wide
    assert max(map(len, narrow.splitlines())) <= 80
    assert sorted(narrow.split()) == sorted(wide.split())
