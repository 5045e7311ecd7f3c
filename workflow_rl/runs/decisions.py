"""The decisions of a search: how they are kept, and the table a user reads."""

import math
from typing import Any

from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.logs import Row
from workflow_rl.workflow.orders import format_order


def decision_of(data: dict[str, Any]) -> Decision:
    """Returns the decision that was kept as plain data."""
    known: dict[str, Any] = {k: math.nan if v is None else v for k, v in data.items()}
    known["top"] = tuple((int(order), float(score)) for order, score in data["top"])
    return Decision(**known)


def decision_rows(trials: list[dict[str, Any]]) -> list[Row]:
    """Returns the rows of `gp_sampling_log.csv`."""
    rows: list[Row] = []
    for entry in trials:
        decision = entry["decision"]
        row: dict[str, Any] = {
            "trial": entry["trial"]["number"],
            "workflow": format_order(entry["trial"]["order"]),
            "reason": decision["reason"],
            "ucb": decision["ucb"],
            "mean": decision["mean"],
            "std": decision["deviation"],
            "compliance_chance": decision["compliance_chance"],
            "score": decision["score"],
            "pick_seconds": entry["pick_seconds"],
        }
        for i in range(3):
            top = decision["top"][i] if i < len(decision["top"]) else None
            row[f"top{i + 1}"] = format_order(int(top[0])) if top else ""
            row[f"top{i + 1}_score"] = top[1] if top else ""
        rows.append(row)
    return rows
