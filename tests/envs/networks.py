"""Networks that are not Scenario2, for tests of what plays on them."""

from typing import Final

from workflow_rl.scenario.loading import network_of
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.random_network import random_network

OFFICE: Final = network_of("office")
STRANGE: Final = random_network(14, 4, seed=6, rare=0.5)  # hosts that are hidden, unwatched, ...
OTHERS: Final[dict[str, Network]] = {
    "office": OFFICE,
    "plant": network_of("plant"),
    "cage1": network_of("cage1"),
    "strange": STRANGE,
}
