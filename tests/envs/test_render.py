from workflow_rl import Cage2Env
from workflow_rl.scenario.scenario2 import HOST_NAMES, parse_action


def test_a_frame_shows_blues_table_and_the_truth() -> None:
    env = Cage2Env(red_agent="bline", render_mode="ansi")
    env.reset(seed=1)
    env.step(parse_action("DecoyFemitter Enterprise1"))
    total = 0.0
    for _ in range(14):
        total += env.step(0)[1]
    text = env.render()
    assert isinstance(text, str)
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()[:1]}
    assert f"return so far {total:.1f}" in text
    assert set(HOST_NAMES) <= set(lines)
    assert "Femitter" in lines["Enterprise1"]
    assert "privileged" in lines["User0"]
    assert "\x1b" not in text  # plain text without terminal codes
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_frame_says_what_happened() -> None:
    env = Cage2Env(red_agent="bline", render_mode="ansi", episode_length=20)
    env.reset(seed=0)
    assert "Blue: nothing yet\nRed:  nothing yet" in str(env.render())
    env.step(parse_action("DecoySmss Op_Server0"))
    text = str(env.render())
    assert "Blue: DecoySmss Op_Server0 (refused)" in text
    assert "Red:  discover remote systems user subnet: success" in text
    for _ in range(19):  # and after the last step the final moment is shown
        env.step(0)
    assert "step 20 of 20 | red bline | rules main | OT service DOWN" in str(env.render())
