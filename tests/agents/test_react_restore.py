from tests.agents.table import named, play
from workflow_rl.agents.react_restore import ReactRestoreAgent

# What CybORG's BlueReactRestoreAgent did on the original, shown the observation of reset() at every
# step: recorded from commit 26ce1c1, first 16 steps of 100.
RECORDED = [
    "Monitor",
    "Restore Defender",
    "Restore Enterprise0",
    "Restore Enterprise1",
    "Restore Enterprise2",
    "Restore Op_Host0",
    "Restore Op_Host1",
    "Restore Op_Host2",
    "Restore Op_Server0",
    "Restore User1",
    "Restore User2",
    "Restore User3",
    "Restore User4",
    "Monitor",
    "Restore Defender",
    "Restore Enterprise0",
]


def test_it_plays_the_recorded_cycle() -> None:
    agent = ReactRestoreAgent()
    for red in ("bline", "meander", "sleep"):  # new episodes start the cycle over
        _, played = play(agent, n=2, red_agent=red)
        for env in (0, 1):
            assert named(played, env)[:16] == RECORDED
            assert named(played, env) == (RECORDED[:13] * 8)[:100]


def test_against_a_sleeping_red_it_costs_the_published_number_of_restores() -> None:
    for steps, restores in ((30, 27), (50, 46), (100, 92)):
        _, played = play(ReactRestoreAgent(), steps=steps, red_agent="sleep")
        assert sum(name.startswith("Restore") for name in named(played)) == restores
