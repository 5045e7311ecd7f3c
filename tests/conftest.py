"""What every test relies on."""

import signal

import pytest

from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.errors import InvalidInputError

# A shell starts background jobs with SIGINT ignored, and children inherit that: the tests that
# interrupt a command would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what needs the real CybORG where there is none."""
    marked = [item for item in items if item.get_closest_marker("cyborg")]
    if not marked:
        return
    try:
        load_cyborg()
    except InvalidInputError as error:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=str(error)))
