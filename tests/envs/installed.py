"""The CybORG that is installed here, under the rules it plays."""

from functools import cache
from typing import Any

from workflow_rl import CyborgEnv
from workflow_rl.config import RuleSetName
from workflow_rl.errors import InvalidInputError


@cache
def installed_rules() -> RuleSetName:
    try:
        CyborgEnv(rules="main")
    except InvalidInputError:
        return "competition"
    return "main"


def cyborg_env(**game: Any) -> CyborgEnv:
    return CyborgEnv(rules=installed_rules(), **game)
