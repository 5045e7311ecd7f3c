"""What is Scenario2's own: names and numbers that hold on no other network."""

from typing import Final

from workflow_rl.scenario.actions import ActionKind, Actions, actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.tables import tables_of

HOST_NAMES: Final = SCENARIO2.host_names
NUM_HOSTS: Final = len(HOST_NAMES)
USER0: Final = HOST_NAMES.index("User0")
OP_SERVER0: Final = HOST_NAMES.index("Op_Server0")
CHALLENGE_SIZE: Final = 4 * NUM_HOSTS
ACTIONS: Final[Actions] = actions_of(SCENARIO2)
NUM_ACTIONS: Final = ACTIONS.size
ACTION_NAMES: Final = ACTIONS.names
ACTION_KIND: Final = ACTIONS.kinds
ACTION_HOST: Final = ACTIONS.hosts
SLEEP: Final = ACTION_NAMES.index("Sleep")
MONITOR: Final = ACTION_NAMES.index("Monitor")
FIRST_ANALYSE: Final = int(ACTION_KIND.tolist().index(ActionKind.ANALYSE))
FIRST_REMOVE: Final = int(ACTION_KIND.tolist().index(ActionKind.REMOVE))
FIRST_RESTORE: Final = int(ACTION_KIND.tolist().index(ActionKind.RESTORE))
parse_action: Final = ACTIONS.parse
# (host, decoy) -> action index
DECOY_ACTIONS: Final = tables_of(SCENARIO2)[0]["decoy_action"][:NUM_HOSTS]
