"""What a wrong request gets: one sentence."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from workflow_rl.errors import InvalidInputError


def refusal(call: Callable[..., Any], *arguments: Any, **more: Any) -> str:
    """The one sentence by which a call is refused."""
    with pytest.raises(InvalidInputError) as caught:
        call(*arguments, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def refused(sentence: str, call: Callable[..., Any], *arguments: Any, **more: Any) -> None:
    """Asserts that a call is refused by one sentence, which matches the given one."""
    said = refusal(call, *arguments, **more)
    assert re.search(sentence, said), said
