"""An episode that can be walked through."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refused import refused
from workflow_rl.config import GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.scenario.scenario2 import SLEEP, parse_action


def new_episode(seed: int = 0, **config: object) -> Episode:
    return Episode(GameConfig(**{"red_agent": "meander"} | config), seed)  # type: ignore[arg-type]


MOVES = st.one_of(
    st.tuples(st.just("act"), st.sampled_from([SLEEP, 51, 139, 12, 134, 140])),
    st.tuples(st.just("go_to"), st.integers(-2, 10)),
    st.tuples(st.sampled_from(["back", "forward"])),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(MOVES, max_size=25), st.integers(0, 1))
def test_a_moment_depends_on_the_actions_before_it_alone(moves: list[Any], seed: int) -> None:
    episode, direct = (new_episode(seed, observation="memory", episode_length=6) for _ in range(2))
    actions: list[int] = []
    at = 0
    for move, *argument in moves:
        if move == "act" and at == 6:
            refused("ended after 6 steps", episode.act, *argument)
            continue
        getattr(episode, move)(*argument)
        if move == "act":
            actions[at:] = argument  # the old future is gone
        to = argument[0] if move == "go_to" else at - 1 if move == "back" else at + 1
        at = min(max(0, to), len(actions))
        assert (episode.position, episode.length) == (at, len(actions))
        assert episode.has_ended == (at == 6)
    for action in actions:
        direct.act(action)
    direct.go_to(at)
    assert episode.text() == direct.text()
    assert f"step {at} of 6" in episode.text()
    assert f"return so far {direct.moment.total:.1f}" in episode.text()
    for a, b in zip(episode.moments, direct.moments, strict=True):
        assert (a.state, a.total) == (b.state, b.total)
        assert (a.observation == b.observation).all()
        assert (a.action_mask == b.action_mask).all()


def test_a_moment_fits_a_narrow_terminal() -> None:
    episode = new_episode()
    for name in ("Apache", "HarakaSMPT", "Tomcat", "Vsftpd"):
        episode.act(parse_action(f"Decoy{name} Op_Server0"))
    wide, narrow = episode.text(), episode.text(width=80)
    assert "Apache HarakaSMPT Tomcat Vsftpd" in wide
    assert max(map(len, narrow.splitlines())) <= 80
    assert sorted(narrow.split()) == sorted(wide.split())
