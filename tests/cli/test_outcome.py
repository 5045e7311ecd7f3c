import io
from contextlib import closing
from pathlib import Path

from rich.console import Console

from tests.evaluation.scores import scored
from tests.runs.test_trials import tried as trial
from tests.runs.toy import tiny
from workflow_rl.cli.outcome import print_outcome, print_phases
from workflow_rl.config import ExperimentConfig
from workflow_rl.evaluation.selection import Score
from workflow_rl.ordersearch.finding import conclude, recommend
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.trials import HandedOver, SearchOutcome, Trial, tried_in
from workflow_rl.workflow.orders import ORDERS, TYPES


def score(red_agent: str, reward: float, untrained: float) -> Score:
    return scored(red_agent, (reward, reward - 1, untrained), 0.5, (0.97, 0.95))


SCORES = (score("bline", -14.25, -40.0), score("meander", -300.0, -80.0), score("sleep", 0.0, 0.0))


def told(trials: list[Trial], folder: Path, *, further: bool = False) -> str:
    """What is printed of a search against bline."""
    out = io.StringIO()
    seen = tried_in(trials)
    finding = conclude(TYPES, seen, "bline")
    chosen = recommend(TYPES, seen, finding.equals)
    with closing(RunDirectory.create(folder, tiny(), [])) as directory:
        policy = HandedOver(further, SCORES, 12.0)
        outcome = SearchOutcome(directory.path, trials, finding, chosen, None, policy, 3_456)
        print_outcome(Console(file=out, width=80, highlight=False), outcome, directory)
    text = out.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines() if str(folder) not in line), text
    return text


def joined(text: str) -> str:
    """The text without its breaks of lines."""
    return " ".join(text.split())


def test_the_compliant_are_ranked_first_and_then_by_reward(tmp_path: Path) -> None:
    # Only the one that did not comply has op_server before enterprise and before user.
    below, second, first = trial(7, -1.0, good=False), trial(3, -20.0), trial(90, -10.0)
    shown = told([below, second, first], tmp_path)
    places = [shown.index(TYPES[t.order].short) for t in (first, second, below)]
    assert places == sorted(places)
    assert "2 of 3 workflows compliant." in shown
    assert "found: Only 2 trials complied: too few to tell orders apart." in shown
    assert f"recommended: {TYPES.format(90)} (one of 40)" in shown
    assert "3,456 transitions in 12 s" in shown


def test_the_policy_is_told_by_red_agent_and_called_unfit_where_it_is(tmp_path: Path) -> None:
    shown = told([trial(7, -1.0)], tmp_path)
    assert "-14.25 ± 0.50" in shown
    assert "unfit for meander: -300.0, where repairing by the order" in joined(shown)
    assert shown.count("unfit") == 1


def test_whether_the_policy_was_trained_further_is_told(tmp_path: Path) -> None:
    whole, tuned = (
        joined(told([trial(7, -1.0)], tmp_path / str(further), further=further))
        for further in (False, True)
    )
    assert "handed over: the policy universal, trained further for it against all" in tuned
    assert "handed over: the policy universal, as it comes with the package" in whole


def test_where_nothing_complied_the_answer_says_so_first(tmp_path: Path) -> None:
    shown = told([trial(k, -1.0 - k, good=False) for k in range(5)], tmp_path)
    _, answer = shown.split("\n\n")
    assert answer.startswith("found: No workflow complied: none of the 5 tried reached")
    assert f"recommended: none; closest: {TYPES.format(0)}" in answer


def test_what_was_found_is_told_before_the_order_that_is_an_example_of_it(tmp_path: Path) -> None:
    before = [o for o in range(120) if ORDERS[o].index("enterprise") < ORDERS[o].index("user")]
    after = [o for o in range(120) if o not in before]
    trials = [trial(o, -10.0 - 0.01 * k) for k, o in enumerate(before[::4])]
    trials += [trial(o, -20.0 - 0.01 * k) for k, o in enumerate(after[::4])]
    shown = joined(told(trials, tmp_path))
    found = "found: enterprise before user; the rest makes no difference that shows: 60 equal"
    assert 0 < shown.index(found) < shown.index("recommended: ")
    example = shown.split("recommended: ")[1].split(" (one of 60)")[0]
    assert ORDERS[before[0]] == TYPES.read(example)


def test_the_phases_and_what_each_is_for_are_told_at_the_start() -> None:
    out = io.StringIO()
    print_phases(Console(file=out, width=80), ExperimentConfig())
    lines = out.getvalue().splitlines()
    assert [line[:9] for line in lines if line[:1].isdigit()] == [
        "1. base: ",
        "2. trials",
        "3. polish",
        "4. score:",
    ]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == f"short: {TYPES.units.legend}"


def test_with_equals_among_the_trials_the_order_is_told_from_noise(tmp_path: Path) -> None:
    classes = TYPES.classes_of_equals("bline")
    one, same = [order for order in range(120) if classes[order] == classes[0]][:2]
    other = next(order for order in range(120) if classes[order] != classes[0])
    trials = [trial(one, -10.0), trial(same, -12.0), trial(other, -21.0)]
    said = (
        "rewards differ by 7.07 (standard deviation) between 2 different orders, by 1.41 between "
        "equal ones, which is noise"
    )
    assert said in joined(told(trials, tmp_path / "three"))
    assert "how much the order matters" not in told(trials[::2], tmp_path / "two")
