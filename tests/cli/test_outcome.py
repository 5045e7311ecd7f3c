import io
from contextlib import closing
from pathlib import Path

from rich.console import Console

from tests.runs.test_summary import trial
from tests.runs.toy import tiny
from workflow_rl.cli.outcome import print_outcome
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.scoring import Score
from workflow_rl.ordersearch.recommend import Recommendation
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.summary import SearchOutcome
from workflow_rl.runs.trial import Trial
from workflow_rl.workflow.orders import TYPES


def score(red_agent: str, reward: float, untrained: float) -> Score:
    return Score(
        red_agent,
        Estimate(reward, 0.5),
        Estimate(reward - 1, 0.5),
        0.97,
        0.95,
        Estimate(untrained, 0.5),
    )


SCORES = (score("bline", -14.25, -40.0), score("meander", -300.0, -80.0), score("sleep", 0.0, 0.0))


def told(trials: list[Trial], folder: Path) -> str:
    """What is printed of a search against bline."""
    out = io.StringIO()
    chosen = Recommendation(trials[0].order, True, -10.0, 0.5, -10.0, 1, "the best")
    with closing(RunDirectory.create(folder, tiny(), [])) as directory:
        outcome = SearchOutcome(directory.path, trials, chosen, None, SCORES, 12.0, 3_456)
        print_outcome(Console(file=out, width=250), outcome, directory)
    return out.getvalue()


def test_the_compliant_are_ranked_first_and_then_by_reward(tmp_path: Path) -> None:
    below, second, first = trial(7, -1.0, good=False), trial(3, -20.0), trial(90, -10.0)
    shown = told([below, second, first], tmp_path)
    places = [shown.index(TYPES.format(t.order)) for t in (first, second, below)]
    assert places == sorted(places)
    assert "2 of 3 workflows compliant." in shown
    assert f"recommended: {TYPES.format(7)}" in shown
    assert "3,456 transitions in 12 s" in shown


def test_the_policy_is_told_by_red_agent_and_called_unfit_where_it_is(tmp_path: Path) -> None:
    shown = told([trial(7, -1.0)], tmp_path)
    assert "-14.25 ± 0.50" in shown
    assert "unfit for meander: -300.0, where repairing by the order" in shown
    assert shown.count("unfit") == 1


def test_with_equals_among_the_trials_the_order_is_told_from_noise(tmp_path: Path) -> None:
    classes = TYPES.classes_of_equals("bline")
    one, same = [order for order in range(120) if classes[order] == classes[0]][:2]
    other = next(order for order in range(120) if classes[order] != classes[0])
    trials = [trial(one, -10.0), trial(same, -12.0), trial(other, -21.0)]
    said = (
        "rewards differ by 7.07 (standard deviation) between 2 different orders, by 1.41 between "
        "equal ones, which is noise"
    )
    assert said in told(trials, tmp_path / "three")
    assert "how much the order matters" not in told(trials[::2], tmp_path / "two")
