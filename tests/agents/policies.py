"""Untrained policies with strong opinions, in memory and as files."""

from pathlib import Path
from typing import Any

import numpy as np

from workflow_rl.agents.policy import Policy, describe_policy, save_policy
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import TYPES

ORDER = 69


def weights(inputs: int, outputs: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sizes = (inputs, 16, outputs)
    return {
        f"actor.{2 * i}.{part}": rng.normal(0, 1.5, shape).astype(np.float32)
        for i in range(2)
        for part, shape in (("weight", (sizes[i + 1], sizes[i])), ("bias", (sizes[i + 1],)))
    }


def new_policy(
    size: int = 52,
    outputs: int = 145,
    *,
    order: int | None = None,
    conditioned: bool = False,
    seed: int = 0,
    **more: Any,
) -> Policy:
    named = None if order is None else TYPES[order]
    description = describe_policy(order=named, conditioned=conditioned, **more)
    encoding = OrderEncoding(more.get("order_encoding", "onehot"), TYPES.units)
    width = size + (encoding.size if conditioned else 0)
    return Policy(weights(width, outputs, seed), description)


def policy_file(path: Path, policy: Policy) -> Path:
    save_policy(path, policy.weights, policy.description)
    return path
