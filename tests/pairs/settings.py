"""Settings with values to combine, and rows that cover every pair of them that is allowed."""

import contextlib
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from allpairspy import AllPairs

from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError

Values = Mapping[str, Sequence[Any]]  # "section.setting" -> what it may be; the first: the default
Row = dict[str, Any]

# So small that a training takes a tenth of a second.
TINY: dict[str, dict[str, Any]] = {
    "game": {"episode_length": 6},
    "train": {"n_envs": 3, "max_episodes": 4, "min_updates": 2},
    "search": {"n_workflows": 2, "base_updates": 1, "polish_updates": 1, "score_games": 4},
}
GAME: Values = {
    "game.red_agent": ["bline", "meander", "sleep", "mixed"],
    "game.red_probabilities": [None, {"bline": 0.2, "meander": 0.7, "sleep": 0.1}],
    "game.rules": ["main", "competition"],
    "game.green_agent": ["sleep", "active"],
    "game.observation": ["challenge", "cardiff", "memory", "belief", "truth"],
}
TRAIN: Values = {
    "ppo.mask_actions": [False, True],
    "train.update_steps": [None, 12, 30],  # episodes of 6 steps in 3 environments: some are cut
    "train.compliance_view": ["observed", "true"],
    "train.alignment": ["adaptive", "fixed"],
    "train.stop_at": ["compliance", "budget"],
    "train.replay_rollouts": [0, 1],
    "train.units": ["types", "subnets", "hosts", "any"],
    "train.require": [(), ("op_server > user",), ("enterprise > user",)],
    "train.removal_bonus": [0.0, 0.5],
    "train.conditioned": [True, False],
    "train.order_encoding": [None, "onehot", "ranks", "precedence", "due", "ranks+due"],
    "train.follow": ["learned", "shielded"],
    "train.hidden": [(4,), (4, 4)],
    "train.action_space": ["all", "useful", "cardiff"],
    "train.snapshot_every": [0, 1],
    "ppo.engine": ["autograd", "fused"],
    "ppo.activation": ["relu", "tanh", "gelu"],
    "ppo.gae_lambda": [None, 0.9],
    "ppo.minibatches": [1, 3],
    "ppo.max_gradient_norm": [None, 0.5],
    "ppo.anneal": [False, True],
    "ppo.anneal_entropy": [False, True],
    "ppo.orthogonal": [False, True],
    "ppo.alignment_baseline": [False, True],
}
SEARCH: Values = {
    "search.strategy": ["gp-ucb", "random", "round-robin", "exhaustive", "local", "halving"],
    "search.warm_start": ["common", "universal", "previous", "nearest", "none"],
    "search.polish": [None, "universal", "documented"],
    "search.polish_updates": [None, 0, 1],
    "search.ordered_results": [False, True],
    "search.total_episodes": [None, 12],
}


def configuration(row: Mapping[str, Any]) -> ExperimentConfig:
    """The tiny experiment with a row's settings; first values are left to the preset."""
    sections: dict[str, Any] = {name: dict(settings) for name, settings in TINY.items()}
    for key, value in row.items():
        if value != {**GAME, **TRAIN, **SEARCH}[key][0]:
            section, name = key.split(".")
            sections.setdefault(section, {})[name] = value
    from_universal = row.get("search.warm_start") == "universal"  # which has a form of its own
    form = None if from_universal else "documented"
    return ExperimentConfig.preset("parallel200", form=form, **sections)


def rows(values: Values, check: Any = configuration) -> list[Row]:
    """Rows that cover every pair of values which `check` does not refuse."""
    names = list(values)

    @functools.cache
    def allowed(chosen: tuple[int, ...]) -> bool:
        row = {names[i]: values[names[i]][k] for i, k in enumerate(chosen)}
        try:
            check(row)
        except InvalidInputError:
            return False
        return True

    indices = [list(range(len(values[name]))) for name in names]
    found = AllPairs(indices, filter_func=lambda chosen: allowed(tuple(chosen)))
    rows = [{n: values[n][k] for n, k in zip(names, row, strict=True)} for row in found]
    return rows + _missing(values, rows, check)


def _missing(values: Values, rows: list[Row], check: Any) -> list[Row]:
    """Rows for pairs that are allowed only beside the defaults of everything else."""
    defaults = {name: choices[0] for name, choices in values.items()}
    added: list[Row] = []
    for a, b in itertools.combinations(values, 2):
        covered = [(row[a], row[b]) for row in (*rows, *added)]
        for pair in itertools.product(values[a], values[b]):
            row = defaults | {a: pair[0], b: pair[1]}
            if pair not in covered:
                with contextlib.suppress(InvalidInputError):
                    check(row)
                    added.append(row)
    return added


def named(row: Row) -> str:
    """A row in short: what differs from the first values."""
    defaults = {**GAME, **TRAIN, **SEARCH}
    changed = [f"{k.split('.')[1]}={v}" for k, v in row.items() if v != defaults[k][0]]
    return ",".join(changed).replace(" ", "")
