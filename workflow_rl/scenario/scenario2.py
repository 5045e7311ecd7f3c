"""What is Scenario2's own: names and numbers that hold on no other network."""

from typing import Final

from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2

HOST_NAMES: Final = SCENARIO2.host_names
NUM_HOSTS: Final = len(HOST_NAMES)
CHALLENGE_SIZE: Final = 4 * NUM_HOSTS
ACTIONS: Final = actions_of(SCENARIO2)
NUM_ACTIONS: Final = ACTIONS.size
USER0: Final = HOST_NAMES.index("User0")
OP_SERVER0: Final = HOST_NAMES.index("Op_Server0")
