"""Measures what docs/results.md states, and stores it in docs/results.json.

python -m benchmarks.results                     # what is cheap: games of shipped policies
python -m benchmarks.results --sections searches # some sections only
make results                                     # the cheap ones, then the page

The sections of speed and of exploitability come from the figures of other commands
(benchmarks/results/). A section
that is not measured keeps its stored figures, command and date.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.measure import RESULTS, Parser, describe_machine
from workflow_rl import Cage2VectorEnv, evaluate
from workflow_rl.agents.greedy import DEFAULT_ORDER, GreedyAgent
from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.agents.standing_orders import STANDING_ORDERS, sentences_of
from workflow_rl.config import RULE_SETS, GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.leaderboard import LEADERBOARD
from workflow_rl.evaluation.payoffs import Payoffs
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import DEVIATING_REDS, DEVIATING_STEPS, Evaluation
from workflow_rl.files import json_text, write_named
from workflow_rl.parity.replay import compare
from workflow_rl.parity.trace import find_traces, load_trace
from workflow_rl.provenance import git_revision
from workflow_rl.runs.exploit import GAMES
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import HOST_NAMES
from workflow_rl.sim.state import Access
from workflow_rl.workflow.orders import ORDERS, TYPES, Order

_ROOT: Final = Path(__file__).resolve().parent.parent
_TRACES: Final = _ROOT / "tests" / "parity" / "traces"
_MIXED: Final = (  # the first attackers of the mixtures
    "benchmarks/attackers/enterprise0_main.safetensors",
    *(
        f"workflow_rl/envs/red_policies/vs-{n}_main.safetensors"
        for n in ("robust", "best", "universal")
    ),
)
_MIXING: Final = "--rounds 2 --updates 60 --longer 3 --red-updates 0 --judged 2000"
_ATTACKERS: Final = {  # of the population that `universal` was trained against
    path.stem.removesuffix("_main"): str(path)
    for path in sorted((_ROOT / "benchmarks" / "attackers").glob("*_main.safetensors"))
}
_ATTACKER: Final = _ATTACKERS["enterprise0"]
STORED: Final = _ROOT / "docs" / "results.json"
_REDS: Final = ("bline", "meander")
_GOOD: Final = TYPES.read(("enterprise", "user", "op_server", "op_host", "defender"))
_GAMES: Final = 10_000  # of a cell
_GAMES_OF_AN_ORDER: Final = 500
_GAMES_AGAINST_EACH: Final = 200  # of an order
_TOP, _BOTTOM = 6, 2  # orders that best responses are trained for
_SHORTER: Final = "--seeds 2 --transitions 2500000"  # best responses to so many orders
_SEEDS: Final = (0, 1, 2)
_EXPLOITED: Final = (
    ("best", "main"),
    ("robust", "main"),
    ("universal", "main"),
    ("robust", "competition"),
)
_CAUSES: Final = ("user hosts held", "other hosts held", "Restores", "the service down")
_VALUES: Final = np.array([host.value for host in SCENARIO2.hosts])

Row = dict[str, Any]
Section = dict[str, Any]  # command, rows and perhaps more


def leaderboard() -> Section:
    """The official nine cells of every shipped agent, by both rule sets."""
    rows = []
    for name in ("best", "robust", "universal", "cardiff", "greedy", "react-restore"):
        for rules in RULE_SETS:
            found = _evaluated(name, rules, deviating=())
            cells = {f"{c.steps} {c.red_agent}": c.mean for c in found.cells}
            total = {"mean": found.total.mean, "half_width": found.total.half_width}
            rows.append({"agent": name, "rules": rules, "total": total, "cells": cells})
    published = LEADERBOARD[:3]
    others = [{"team": row.team, "method": row.method, "total": row.total} for row in published]
    command = f"workflow-rl evaluate AGENT --rules RULES --episodes {_GAMES}"
    return {"command": command, "rows": rows, "published": others}


def deviating() -> Section:
    """Attackers that deviate from the scripts against the shipped agents, by both rule sets."""
    rows = []
    for name in ("best", "robust", "universal", "cardiff", "greedy"):
        for rules in RULE_SETS:
            found = _evaluated(name, rules, steps=[DEVIATING_STEPS], red_agents=DEVIATING_REDS)
            cells = {cell.red_agent: asdict(cell.result.reward) for cell in found.cells}
            rows.append({"agent": name, "rules": rules, "cells": cells})
    return {
        "command": f"workflow-rl evaluate AGENT --rules RULES --episodes {_GAMES}",
        "games": _GAMES,
        "steps": DEVIATING_STEPS,
        "reds": list(DEVIATING_REDS),
        "rows": rows,
    }


def _evaluated(name: str, rules: str, **which: Any) -> Evaluation:
    """Evaluates a shipped agent, under its order if it follows one."""
    order = {"universal": _GOOD, "greedy": DEFAULT_ORDER}.get(name)
    return evaluate(name, rules=rules, episodes=_GAMES, workflow=order, logged_episodes=0, **which)


def orders() -> Section:
    """All 120 orders, by `universal` and by hand, against both scripts."""
    universal = load_policy("universal")
    rows: list[Row] = []
    values: dict[str, dict[str, list[float]]] = {}
    for red in _REDS:
        game = GameConfig(red_agent=red)
        for who in ("universal", "by hand"):
            cells = []
            for order in ORDERS:
                agent = (
                    PolicyAgent(universal, who, order) if who == "universal" else GreedyAgent(order)
                )
                cells.append(play_batch(agent, game, 5, _GAMES_OF_AN_ORDER, order))
            means = np.array([cell.mean for cell in cells])
            first = np.array([_before(order, "enterprise", "user") for order in ORDERS])
            rows.append(
                {
                    "red": red,
                    "who": who,
                    "best": {"mean": means.max(), "order": list(ORDERS[int(means.argmax())])},
                    "worst": {"mean": means.min(), "order": list(ORDERS[int(means.argmin())])},
                    "mean": means.mean(),
                    "enterprise_before_user": means[first].mean() - means[~first].mean(),
                    "compliance": min(cell.result.compliance.mean for cell in cells),
                    "fixes": float(np.mean([cell.result.fixes for cell in cells])),
                }
            )
            values.setdefault(who, {})[red] = [round(mean, 2) for mean in means.tolist()]
    return {
        "command": "python -m benchmarks.results --sections orders",
        "games": _GAMES_OF_AN_ORDER,
        "rows": rows,
        "values": values,
    }


def by_hand() -> Section:
    """The standing orders against both scripts, by both rule sets."""
    rows = []
    for rules in RULE_SETS:
        for red in _REDS:
            agent = GreedyAgent()
            game = GameConfig(red_agent=red, rules=rules)
            result = play_batch(agent, game, 5, _GAMES, agent.order).result
            rows.append({"rules": rules, **result.as_json()})
    return {
        "command": f"workflow-rl evaluate greedy --steps 100 --episodes {_GAMES}",
        "rows": rows,
        "order": list(DEFAULT_ORDER),
        "sentences": sentences_of(STANDING_ORDERS),
    }


def exploitability() -> Section:
    """What attackers that adapt take from shipped defenders, by the results of `exploit`.

    A defender whose results are not there keeps its stored row, which names its own revision.
    """
    command = "workflow-rl exploit AGENT --rules RULES"
    before = json.loads(STORED.read_text("utf-8")).get("exploitability", {"rows": []})
    stored = {(row["agent"], row["rules"]): row for row in before["rows"]}
    rows = []
    for name, rules in _EXPLOITED:
        file = f"exploit_{name}_{rules}"
        if (name, rules) in stored and not (RESULTS / f"{file}.json").exists():
            rows.append({"revision": before["revision"]} | stored[name, rules])
            continue
        found = _found(file, f"workflow-rl exploit {name} --rules {rules}")
        rows.append(
            {
                "agent": name,
                "rules": rules,
                "seeds": [response["reward"]["mean"] for response in found["responses"]],
                "revision": git_revision(),
            }
            | {key: found[key] for key in ("exploitability", "transitions", "actions_a_game")}
        )
    beside = []
    for name, order in (("robust", None), ("universal", _GOOD)):
        agent = PolicyAgent(load_policy(name), name, order)
        reward = play_batch(agent, GameConfig(red_agent=_ATTACKER), 5, GAMES).result.reward
        beside.append({"agent": name, "rules": "main", **asdict(reward)})
    return {"command": command, "games": GAMES, "rows": rows, "attacker_of_the_training": beside}


def _found(name: str, command: str) -> Any:
    """Returns the figures that another command has written to benchmarks/results/."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise InvalidInputError(f"{path} is missing: run {command} --output {path} first")
    return json.loads(path.read_text("utf-8"))


def costs() -> Section:
    """What `robust` pays to a best response, by cause: sessions on hosts, Restores, the service."""
    rows = []
    for rules in RULE_SETS:
        policy = load_policy("robust", rules=rules)
        game = policy.config.game.changed(red_agent="vs-robust", rules=rules)
        envs = Cage2VectorEnv(_GAMES_OF_AN_ORDER, game=game, seed=5)
        agent = PolicyAgent(policy, "robust")
        agent.begin(envs.num_envs, 5)
        seen, infos = envs.reset()
        paid = dict.fromkeys(_CAUSES, 0.0)
        for step in range(game.episode_length):
            actions = agent.act(seen, infos["action_mask"], step)
            seen, _, _, _, infos = envs.step(actions)
            access = infos.get("final_info", infos)["red_access"]
            held = (access == Access.PRIVILEGED).sum(axis=0) * _VALUES / envs.num_envs
            for name, cost in zip(HOST_NAMES, held, strict=True):
                paid[_CAUSES[0] if name.startswith("User") else _CAUSES[1]] -= cost
            _, outage, restores = infos["reward_tenths"].mean(axis=0) / 10
            paid[_CAUSES[2]] += restores
            paid[_CAUSES[3]] += outage
        rows.append({"rules": rules, "costs": paid, "total": sum(paid.values())})
    return {
        "command": "python -m benchmarks.results --sections costs",
        "games": _GAMES_OF_AN_ORDER,
        "causes": list(_CAUSES),
        "rows": rows,
    }


def holding() -> Section:
    """All 120 orders against every attacker by `universal`: which holds against its worst."""
    universal = load_policy("universal")
    files = {red: red for red in (*_REDS, *DEVIATING_REDS)} | _ATTACKERS
    attackers = tuple(files)
    scores: dict[str, dict[str, float]] = {}
    least = 1.0  # compliance
    for order in ORDERS:
        agent = PolicyAgent(universal, "universal", order)
        cells = {
            red: play_batch(agent, GameConfig(red_agent=file), 5, _GAMES_AGAINST_EACH, order)
            for red, file in files.items()
        }
        least = min(least, *(cell.result.compliance.mean for cell in cells.values()))
        scores[str(order)] = {red: cell.mean for red, cell in cells.items()}
    payoffs = Payoffs.of(scores)
    first = np.array([_before(order, "enterprise", "user") for order in ORDERS])
    gain = payoffs.scores[first].mean(axis=0) - payoffs.scores[~first].mean(axis=0)
    ranked = np.argsort(-payoffs.worst, kind="stable").tolist()
    rows = [
        {
            "order": list(ORDERS[k]),
            "rank": rank,
            "worst": payoffs.worst[k],
            "worst_attacker": attackers[int(payoffs.scores[k].argmin())],
            "scores": dict(zip(attackers, payoffs.scores[k].tolist(), strict=True)),
        }
        for rank, k in enumerate(ranked, 1)
        if rank <= _TOP or rank > len(ranked) - _BOTTOM or ORDERS[k] == _GOOD
    ]
    return {
        "command": "python -m benchmarks.results --sections holding",
        "games": _GAMES_AGAINST_EACH,
        "attackers": list(attackers),
        "enterprise_before_user": dict(zip(attackers, gain.tolist(), strict=True)),
        "compliance": least,
        "rows": rows,
    }


def holding_responses() -> Section:
    """What best responses take under the orders of `holding`, by the results of `exploit`."""
    held = json.loads(STORED.read_text("utf-8"))["holding"]["rows"]
    rows = []
    for order in (row["order"] for row in held):
        command = f"workflow-rl exploit universal --workflow {'>'.join(order)} {_SHORTER}"
        found = _found(f"exploit_universal_{'_'.join(order)}", command)
        seeds = [response["reward"]["mean"] for response in found["responses"]]
        kept = {key: found[key] for key in ("exploitability", "transitions")}
        rows.append({"order": order, "seeds": seeds, **kept})
    command = f"workflow-rl exploit universal --workflow ORDER {_SHORTER}"
    return {"command": command, "games": GAMES, "rows": rows}


def mixture() -> Section:
    """What defenders reach against fixed mixtures of attackers: no defender can hold better."""
    command = f"python -m benchmarks.mixture {' '.join(_MIXED)} {_MIXING}"
    found = _found("mixture", command)["found"]
    rounds = {name: part for name, part in found.items() if name.startswith("round ")}
    least = min(rounds, key=lambda name: rounds[name]["bound"]["mean"])
    rows = [
        {"round": name.removeprefix("round ")}
        | {key: part[key] for key in ("value", "start", "best_response", "bound", "transitions")}
        | {"attackers": len(part["mixture"])}
        for name, part in rounds.items()
    ]
    tightest = rounds[least] | {"attackers": len(rounds[least]["mixture"])}
    command = f"python -m benchmarks.mixture REDS {_MIXING}"
    return {"command": command, "reds": list(_MIXED), "rows": rows, "tightest": tightest}


def parity() -> Section:
    """The recordings of the real CybORG in the repository."""
    rows = []
    for rules in RULE_SETS:
        found = [compare(load_trace(path), rules) for path in find_traces(_TRACES / rules)]
        counts = {n: sum(getattr(c, n) for c in found) for n in ("episodes", "steps", "mismatches")}
        rows.append({"rules": rules, **counts, "fields": len(found[0].fields)})
    return {"command": "workflow-rl parity tests/parity/traces/RULES --rules RULES", "rows": rows}


def searches() -> Section:
    """The default search against each script, three seeds."""
    command = "workflow-rl search --red-agent RED --seed SEED"
    rows = []
    for red in _REDS:
        for seed in _SEEDS:
            seconds, summary = _searched(["--red-agent", red, "--seed", str(seed)])
            rows.append({"red": red, "seed": seed, "seconds": seconds, **_handed_over(summary)})
    return {"command": command, "rows": rows}


def units() -> Section:
    """The search of the tutorial about units."""
    tutorial = (_ROOT / "docs" / "tutorials" / "units.md").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "units.toml"
        path.write_text(tutorial.split("```toml\n")[1].split("```")[0], "utf-8")
        required = "crown_jewels > laptops"
        _, summary = _searched(["--units", str(path), "--require", required])
    rewards = [trial["objective"]["reward"]["mean"] for trial in summary["trials"]]
    row = {"lowest": min(rewards), "highest": max(rewards), **_handed_over(summary)}
    return {
        "command": 'workflow-rl search --units units.toml --require "crown_jewels > laptops"',
        "rows": [row],
    }


def _searched(flags: list[str]) -> tuple[float, dict[str, Any]]:
    """Runs a search; returns how long it took and its summary."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "workflow_rl", "search", *flags, "--checkpoint-dir", folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - started
        (path,) = Path(folder).glob("*/summary.json")
        return seconds, json.loads(path.read_text("utf-8"))


def _speed(name: str) -> Callable[[], Section]:
    """Returns the section of another benchmark's ratios."""

    def section() -> Section:
        path = RESULTS / f"{name}.json"
        found = _found(name, f"python -m benchmarks.{name}")
        ratios = [{"ratio": n, **r} for n, r in found["ratios"].items()]
        rows = [{k: v for k, v in row.items() if k != "rounds"} for row in ratios]
        return {
            "command": f"python -m benchmarks.{name}",
            "date": f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d}",
            "revision": found["machine"]["revision"],
            "rows": rows,
        }

    return section


CHEAP: Final = {
    "leaderboard": leaderboard,
    "deviating": deviating,
    "orders": orders,
    "by_hand": by_hand,
    "parity": parity,
}
SECTIONS: Final = {
    **CHEAP,
    "exploitability": exploitability,
    "costs": costs,
    "holding": holding,
    "holding_responses": holding_responses,
    "mixture": mixture,
    "searches": searches,
    "units": units,
    **{f"speed_{name}": _speed(name) for name in ("sim", "train", "vector", "engines")},
}


def _handed_over(summary: Mapping[str, Any]) -> Row:
    """Returns what a search's policy got against each script."""
    scores = {score["red_agent"]: score["deterministic"] for score in summary["policy_scores"]}
    return {
        "compliant": summary["compliant_workflows"],
        "trials": len(summary["trials"]),
        "recommended": summary["recommended"],
        "headline": summary["finding"]["headline"],
        **{red: scores[red]["reward"] for red in _REDS},
        "compliance": min(scores[red]["compliance"]["mean"] for red in _REDS),
    }


def _before(order: Order, first: str, second: str) -> bool:
    names = list(order)
    return names.index(first) < names.index(second)


def main() -> int:
    """Measures the sections that were asked for and stores them."""
    parser = Parser(prog="python -m benchmarks.results", description=__doc__.splitlines()[0])
    names = ", ".join(SECTIONS)
    parser.add_argument(
        "--sections", nargs="+", choices=SECTIONS, default=list(CHEAP), metavar="NAME", help=names
    )
    args = parser.parse_args()
    stored: dict[str, Any] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    revision = git_revision()  # before the first figures are written
    for name in args.sections:
        print(f"measuring {name}", file=sys.stderr)
        try:
            measured = SECTIONS[name]()
        except InvalidInputError as error:
            print(f"{parser.prog}: error: {error}", file=sys.stderr)
            return 2
        machine = describe_machine()
        stored[name] = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "revision": revision,
            "machine": f"{machine['cores']} cores, {machine['processor']}",
            **measured,
        }
        write_named(STORED, (json_text(_rounded(stored), indent=1) + "\n").encode())
    return 0


def _rounded(data: Any) -> Any:
    """Returns plain data with numbers of six digits."""
    if isinstance(data, Mapping):
        return {name: _rounded(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value) for value in data]
    return float(f"{data:.6g}") if isinstance(data, float) else data


if __name__ == "__main__":
    sys.exit(main())
