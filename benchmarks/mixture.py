"""Bounds what any defender can reach, by best responses to fixed mixtures of attackers.

python -m benchmarks.mixture RED.safetensors ... --output FILE.json

Attackers that are drawn from a fixed mixture do not adapt. No defender can score better against its
own worst attacker than the best response to the mixture scores against the mixture (weak duality).
A mixture here is the equilibrium of the matrix of scores so far, defenders x attackers. Each round
trains a defender against it, from the one that is best against it so far, and an attacker against
that defender; both join the matrix. The bound rests on PPO: a better response may exist.
"""

import sys
import tempfile
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from benchmarks.measure import Benchmark, Row, number
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.payoffs import Payoffs
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.processes import one_thread
from workflow_rl.runs.training import job_of
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training

_BLUE_SEED, _RED_SEED, _MATRIX_SEED, _JUDGE_SEED = 1_000, 2_000, 11, 12
_LEAST: Final = 1e-3  # weight of an attacker that is left out


def equilibrium(scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Returns the attackers' mixture against (defenders, attackers) scores, and the value."""
    defenders, attackers = scores.shape
    goal = np.append(np.zeros(attackers), 1.0)  # the most that a defender gets
    solved = linprog(
        goal,
        A_ub=np.hstack([scores, -np.ones((defenders, 1))]),
        b_ub=np.zeros(defenders),
        A_eq=np.append(np.ones(attackers), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, 1)] * attackers + [(None, None)],
    )
    mixture = np.where(solved.x[:-1] < _LEAST, 0.0, solved.x[:-1])
    return mixture / mixture.sum(), float(solved.x[-1])


class Oracles:
    """The defenders and attackers so far, their scores, and what trains more of them."""

    def __init__(self, start: Policy, reds: list[str], args: Any, folder: Path) -> None:
        """Takes the first defender and the first attackers."""
        self.blues, self.reds = {"start": start}, {Path(red).stem: red for red in reds}
        self.args, self.folder = args, folder
        self.scores: dict[str, dict[str, float]] = {}

    def played(self, blue: Policy, red: str, seed: int, games: int) -> Estimate:
        """Returns a defender's score against an attacker."""
        game = GameConfig(rules=self.args.rules, red_agent=red)
        return play_batch(PolicyAgent(blue, "blue"), game, seed, games).result.reward

    def matrix(self) -> Payoffs:
        """Plays what was not played yet."""
        for name, blue in self.blues.items():
            row = self.scores.setdefault(name, {})
            for red, file in self.reds.items():
                if red not in row:
                    row[red] = self.played(blue, file, _MATRIX_SEED, self.args.games).mean
        return Payoffs.of(self.scores)

    def respond(self, mixture: dict[str, float], base: Policy, updates: int, seed: int) -> Policy:
        """Trains a defender against a mixture of attackers."""
        mixed = ",".join(f"{self.reds[red]}={share:.6g}" for red, share in mixture.items())
        trained = base.config
        config = ExperimentConfig.preset(
            "robust",
            game={"rules": self.args.rules, "observation": trained.game.observation},
            ppo={"anneal": True, "anneal_entropy": True, "learning_rate": self.args.rate},
        )
        train = replace(config.train, max_episodes=updates, hidden=trained.train.hidden)
        job = job_of(config, None, train=train, seed=_BLUE_SEED + seed)
        job = replace(job, game=replace(job.game, red_agent=mixed), base=base.weights)
        return job.policy(_last_of(job))

    def attack(self, name: str, blue: Policy, seed: int) -> None:
        """Trains an attacker against a defender, from scratch."""
        config = ExperimentConfig.preset(
            "best-response", game={"rules": self.args.rules}, train={"against": name}
        )
        train = replace(config.train, max_episodes=self.args.red_updates)
        job = job_of(config, None, train=train, seed=_RED_SEED + seed)
        job = replace(job, defender=blue)
        path = self.folder / f"against_{name}.safetensors"
        job.save_policy(path, _last_of(job))
        self.reds[path.stem] = str(path)

    def judged(self, blue: Policy, mixture: dict[str, float]) -> Estimate:
        """Returns a defender's score against a mixture in fresh games."""
        cells = [
            self.played(blue, self.reds[red], _JUDGE_SEED, self.args.judged) for red in mixture
        ]
        shares = np.array(list(mixture.values()))
        mean = float(shares @ [cell.mean for cell in cells])
        return Estimate(mean, float(np.hypot.reduce(shares * [c.half_width for c in cells])))


def _last_of(job: TrainJob) -> Any:
    """Trains, and returns the last weights."""
    with one_thread(), closing(Training(job)) as training:
        for _ in training.updates():
            pass
        return training.learner.network.weights()


def measure(bench: Benchmark) -> None:
    """Trains by turns; every round bounds what a defender can reach."""
    args = bench.args
    missing = [red for red in args.reds if not Path(red).is_file()]
    if missing:
        raise InvalidInputError(f"{missing[0]} is no file")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        oracles = Oracles(load_policy(args.start, rules=args.rules), args.reds, args, Path(folder))
        for k in range(args.rounds):
            known = oracles.matrix()
            shares, value = equilibrium(known.scores)
            mixture = {r: float(s) for r, s in zip(known.attackers, shares, strict=True) if s}
            last = k == args.rounds - 1
            updates = args.updates * (args.longer if last else 1)
            best = known.rows[int((known.scores @ shares).argmax())]
            bench.tell(f"round {k} of {args.rounds}: {len(mixture)} attackers, {value:.1f}")
            blue = oracles.respond(mixture, oracles.blues[best], updates, k)
            found = {name: oracles.judged(one, mixture) for name, one in oracles.blues.items()}
            found[f"round {k}"] = oracles.judged(blue, mixture)
            top = max(found, key=lambda name: found[name].mean)
            rows.append(
                {
                    "round": k,
                    "attackers": len(mixture),
                    "most": max(mixture, key=mixture.__getitem__),
                    "value of the matrix": value,
                    "start": str(found["start"]),
                    "best response": str(found[f"round {k}"]),
                    "no defender above": str(found[top]),
                }
            )
            bench.found[f"round {k}"] = {
                "mixture": mixture,
                "value": value,
                "start": asdict(found["start"]),
                "best_response": asdict(found[f"round {k}"]),
                "bound": asdict(found[top]),
                "transitions": updates * 100 * blue.config.train.n_envs,
            }
            print(rows[-1], flush=True)
            oracles.blues[f"round {k}"] = blue
            if not last and args.red_updates:
                oracles.attack(f"round_{k}", blue, k)
    bench.tables["best responses to fixed mixtures"] = rows
    bench.found["payoffs"] = known.as_json()


def main() -> int:
    """Runs the rounds."""
    bench = Benchmark(
        "mixture",
        "bound what any defender can reach, by best responses to fixed mixtures of attackers",
        game_flags=("rules",),
        repeats=0,
    )
    bench.flag("reds", nargs="+", metavar="RED", help="red policies, the first attackers")
    bench.flag("--start", default="robust", metavar="POLICY", help="the first defender")
    bench.flag("--rounds", type=number(1, 1_000), default=8, help="of both trainings")
    updates = "of a defender's training, 38,400 transitions each"
    bench.flag("--updates", type=number(1, 100_000), default=80, help=updates)
    bench.flag("--longer", type=number(1, 100), default=4, help="times as long is the last round")
    bench.flag("--red-updates", type=number(0, 100_000), default=60, help="of an attacker's")
    bench.flag("--rate", type=number(0, 1, float), default=7e-4, help="learning rate of a defender")
    bench.flag("--games", type=number(1, 100_000), default=200, help="of a cell of the matrix")
    bench.flag("--judged", type=number(1, 100_000), default=1_000, help="fresh games of a cell")
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
