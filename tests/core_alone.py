"""Uses everything that needs no extra, where no extra can be imported; prints what happened.

Run as a script by `test_core.py`: what is imported cannot be taken back in the tests' own process.
"""

import contextlib
import io
import json
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from workflow_rl.errors import EXTRA_OF

TRACES = Path(__file__).resolve().parent / "parity" / "traces" / "main"


class Refuser(MetaPathFinder):
    """Makes the modules of every extra look like not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.partition(".")[0] in EXTRA_OF:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def called(argv: Sequence[str]) -> tuple[int, str, str]:
    """Runs a command; returns its exit code, its last line of output and of errors."""
    from workflow_rl.cli import main

    output, errors = io.StringIO(), io.StringIO()
    sys.stdin = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = main(argv)
        except SystemExit as ended:  # as argparse ends `--help`
            code = int(ended.code or 0)
    last = [(text.getvalue().splitlines() or [""])[-1] for text in (output, errors)]
    return code, last[0], last[1]


def raised(action: Any) -> str:
    """Returns the kind and the text of what an action raises."""
    try:
        return f"returned {action()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def used() -> dict[str, Any]:
    """Returns what the core's own functions give."""
    import gymnasium
    import numpy as np

    import workflow_rl
    from workflow_rl.agents.named import REFERENCE_AGENTS
    from workflow_rl.parity.replay import compare
    from workflow_rl.parity.trace import load_trace

    vector = workflow_rl.Cage2VectorEnv(3)
    vector.reset(seed=0)
    belief = workflow_rl.Belief()
    belief.update(np.zeros(52, np.int8), 0)
    single = gymnasium.make("workflow_rl/Cage2-v0", render_mode="rgb_array")
    single.reset(seed=0)
    return {
        "vector": vector.step(np.zeros(3, np.int64))[1].tolist(),
        "single": float(single.step(0)[1]),
        "picture": np.asarray(single.render()).shape,
        "red_agent": belief.red_agent[0].tolist(),
        "mismatches": compare(load_trace(TRACES / "sleep.npz"), "main").mismatches,
        "totals": {
            name: workflow_rl.evaluate(name, episodes=2, steps=[9], red_agents=["bline"]).total.mean
            for name in REFERENCE_AGENTS
        },
    }


def refused() -> dict[str, str]:
    """Returns what functions say that need an extra."""
    import workflow_rl
    from tests.agents.policies import new_policy

    env = workflow_rl.Cage2Env(render_mode="ansi")
    env.reset(seed=0)
    return {
        "search": raised(lambda: workflow_rl.search),
        "train_workflow": raised(lambda: workflow_rl.train_workflow),
        "load_policy": raised(lambda: workflow_rl.load_policy(__file__)),
        "export_policy": raised(lambda: workflow_rl.export_policy(new_policy())),
        "render": raised(env.render),
        "parallel_env": raised(lambda: workflow_rl.parallel_env),
        "sb3": raised(lambda: __import__("workflow_rl.envs.sb3")),
    }


def main(commands: Sequence[Sequence[str]]) -> None:
    """Prints, as JSON, what functions and commands did."""
    sys.meta_path.insert(0, Refuser())
    result = {"used": used(), "refused": refused(), "commands": [called(c) for c in commands]}
    print(json.dumps(result))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
