"""An episode that can be walked through."""

import pytest

from tests.refused import refused
from workflow_rl.config import GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.scenario.actions import SLEEP, parse_action


def new_episode(seed: int = 0, **config: object) -> Episode:
    return Episode(GameConfig(**{"red_agent": "meander"} | config), seed)  # type: ignore[arg-type]


def texts(episode: Episode, actions: list[int]) -> list[str]:
    """Plays the actions and returns what each moment looks like."""
    seen = [episode.text()]
    for action in actions:
        episode.act(action)
        seen.append(episode.text())
    return seen


@pytest.mark.parametrize("back_to", [0, 5])
def test_a_moment_depends_on_the_actions_before_it_alone(back_to: int) -> None:
    actions = [51, 0, 139, 12, 25, 0, 142, 30, 0, 17]
    episode, direct = (new_episode(observation="memory") for _ in range(2))
    texts(episode, [*actions[:back_to], 77, 7, 0])
    episode.go_to(back_to)
    assert texts(episode, actions[back_to:]) == texts(direct, actions)[back_to:]
    for a, b in zip(episode.moments, direct.moments, strict=True):
        assert (a.state, a.total) == (b.state, b.total)
        assert (a.observation == b.observation).all()
        assert (a.action_mask == b.action_mask).all()
    assert texts(new_episode(seed=1), actions) != texts(new_episode(), actions)


def test_moving_in_time_changes_nothing_that_was_played_until_another_action() -> None:
    episode = new_episode()
    seen = texts(episode, [0, 51, 0, 134, 0])
    for position in (3, 0, 5, 1):
        episode.go_to(position)
        assert episode.text() == seen[position]
    for position in (2, 3):
        episode.forward()
        assert (episode.position, episode.length) == (position, 5)
        assert episode.text() == seen[position]
    episode.act(parse_action("Restore User1"))
    assert episode.length == 4  # the old future is gone
    assert "Restore User1" in episode.text()
    episode.back()
    episode.act(134)
    assert episode.text() == seen[4]


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
    refused("ended after 3 steps", episode.act, SLEEP)
    assert "step 3 of 3" in episode.text()
    assert "return so far 0.0" in episode.text()
    episode.go_to(99)
    assert episode.position == 3
    episode.go_to(-1)
    assert episode.position == 0
    episode.go_to(2)
    episode.act(parse_action("Restore User0"))  # going back opens it again
    assert episode.has_ended
    assert "return so far -1.0" in episode.text()  # that of the moment


def test_a_moment_fits_a_narrow_terminal() -> None:
    episode = new_episode()
    for name in ("Apache", "HarakaSMPT", "Tomcat", "Vsftpd"):
        episode.act(parse_action(f"Decoy{name} Op_Server0"))
    wide, narrow = episode.text(), episode.text(width=80)
    assert "Apache HarakaSMPT Tomcat Vsftpd" in wide
    assert max(map(len, narrow.splitlines())) <= 80
    assert sorted(narrow.split()) == sorted(wide.split())
