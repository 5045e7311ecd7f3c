import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.cli.run import run_here
from tests.refused import refused
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.evaluation.payoffs import Payoffs
from workflow_rl.pages.report import write_report
from workflow_rl.runs.robust import RobustRun, open_robust

PLAN = {"rounds": 3, "lineages": 2, "response_updates": 1, "blue_updates": 2, "restart_every": 4}


def tiny(**population: object) -> ExperimentConfig:
    game, train = {"episode_length": 20}, {"n_envs": 12}
    return ExperimentConfig.preset("robust", game=game, train=train, population=PLAN | population)


def report_of(run: Path) -> str:
    return write_report([run], run / "report.html").read_text()


@contextmanager
def finished(folder: Path, stop: int | None = None, **population: object) -> Iterator[RobustRun]:
    with open_robust(tiny(**population), checkpoint_dir=folder) as robust:
        for _ in islice(robust.events(), stop):
            pass
        if stop is None:
            yield robust
            return
    (path,) = folder.iterdir()
    with open_robust(resume=path) as robust:
        for _ in robust.events():
            pass
        yield robust


def test_attackers_follow_the_defender_and_it_meets_all_of_them(tmp_path: Path) -> None:
    with finished(tmp_path) as robust:
        path, config = robust.directory.path, robust.directory.config
        made = [sorted(set(found.scores) - {"bline", "meander"}) for found in robust.rounds]
        assert made[2] == [f"red_{r}_{k}" for r in range(3) for k in range(2)]
        tasks = {p.name: p for p in (path / "trainings").iterdir()}
        assert set(tasks) == {*made[2], "blue_0", "blue_1", "blue_2"}
        updates = {
            name: len((p / "updates.csv").read_text().splitlines()) - 1 for name, p in tasks.items()
        }
        scratch = {"red_0_0", "red_0_1", "red_2_1"}  # one lineage begins anew after two rounds
        assert {name: n for name, n in updates.items() if name in made[2]} == {
            name: 3 if name in scratch else 1 for name in made[2]
        }
        assert sum(updates.values()) == robust.updates
        game = json.loads((path / "policies" / "recommended.json").read_text())["trained"]["game"]
        shares = dict(part.rsplit("=", 1) for part in game["red_agent"].split(","))
        learned = {Path(name).stem: float(w) for name, w in shares.items() if "red_" in name}
        assert "/" not in game["red_agent"]  # no folder of the machine that trained it
        assert set(learned) == set(made[2])
        assert sum(learned.values()) == pytest.approx(1 - config.population.script_share, abs=1e-4)
        scores = robust.rounds[-1].scores
        written = report_of(path)
        assert "Against each attacker" in written
        assert "red_2_1" in written
        assert "round 2" in written
        worst = re.search(r"takes it to <strong>(.*?)<", written.replace("\N{MINUS SIGN}", "-"))
        assert worst is not None
        assert float(worst[1]) == pytest.approx(robust.rounds[-1].worst, abs=0.05)
        summary = json.loads((path / "summary.json").read_text())
        assert Payoffs.from_json(summary["payoffs"]).as_json()["round 2"] == scores
        assert load_policy(path).is_sampled
        hardest, easiest = (f(learned, key=scores.__getitem__) for f in (min, max))
        assert learned[hardest] >= learned[easiest]


def test_an_interrupted_robust_training_resumes_exactly(tmp_path: Path) -> None:
    with finished(tmp_path / "whole") as whole, finished(tmp_path / "cut", 9) as cut:
        assert cut.rounds == whole.rounds
        files = [r.directory.policy("recommended").read_bytes()[-4000:] for r in (whole, cut)]
        assert files[0] == files[1]


def test_the_command_trains_from_scratch_too_and_refuses_what_does_not_fit(tmp_path: Path) -> None:
    flags = (
        "--rounds 1 --lineages 1 --response-updates 1 --blue-updates 1 --n-envs 8 --max-steps 10"
    )
    said = run_here("train", "--preset", "robust", *flags.split(), "--start", "none", cwd=tmp_path)
    assert "round 0: bline" in said
    other = ExperimentConfig.preset("robust", train={"hidden": (16,)})
    refused("starts from best needs hidden", lambda: open_robust(other).__enter__())


def test_a_policy_that_follows_any_order_is_trained_against_a_population(tmp_path: Path) -> None:
    with finished(tmp_path / "first", rounds=1) as first:
        given = str(first.directory.policy("red_0_0"))
    config = ExperimentConfig.preset(
        "robust-universal",
        game={"episode_length": 20},
        train={"n_envs": 12},
        population=PLAN | {"rounds": 1, "attackers": (given,)},
    )
    with open_robust(config, checkpoint_dir=tmp_path / "second") as robust:
        for _ in robust.events():
            pass
        path = robust.directory.path
    assert set(robust.rounds[0].scores) == {"bline", "meander", "given_0", "red_0_0", "red_0_1"}
    described = json.loads((path / "policies" / "recommended.json").read_text())["trained"]
    assert "given_0" in described["game"]["red_agent"]
    policy = load_policy(path)
    assert policy.is_conditioned
    assert policy.is_shielded
    against = [
        json.loads((path / "policies" / f"red_0_{k}.json").read_text())["trained"]["train"]
        for k in range(2)
    ]
    assert len({train["against_workflow"] for train in against}) == 2  # each under its own order


def test_it_may_start_from_a_policy_that_follows_no_order_and_be_attacked_under_one(
    tmp_path: Path,
) -> None:
    order = "enterprise > user > op_server > op_host > defender"
    config = ExperimentConfig.preset(
        "robust-universal",
        game={"episode_length": 20, "observation": "recall"},
        train={"n_envs": 12},
        population=PLAN | {"rounds": 1, "start": "robust", "under": order},
    )
    with open_robust(config, checkpoint_dir=tmp_path) as robust:
        for _ in robust.events():
            pass
        path = robust.directory.path
    first, base = load_policy(path / "policies" / "blue_0.safetensors"), load_policy("robust")
    assert first.is_shielded
    seen = np.random.default_rng(0).integers(0, 2, (20, first.observation.size))
    for followed in (order, "defender > user > op_server > op_host > enterprise"):
        assert first.probabilities(seen, followed) == pytest.approx(base.probabilities(seen))
    under = [
        json.loads((path / "policies" / f"red_0_{k}.json").read_text())["trained"]["train"]
        for k in range(2)
    ]
    assert under[0]["against_workflow"] == order
    assert under[1]["against_workflow"] != order
    wrong = ExperimentConfig.preset("robust-universal", population={"under": "user > sea"})
    refused("user > sea is not a workflow", lambda: open_robust(wrong).__enter__())
