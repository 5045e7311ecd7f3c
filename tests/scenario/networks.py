"""Networks for tests: scenario files that CybORG has played, random ones, and small ones."""

from pathlib import Path

from hypothesis import strategies as st

from workflow_rl.scenario.network import Network, Reachability
from workflow_rl.scenario.random_network import MOST_ZONES, random_network

RECORDED = Path(__file__).resolve().parent.parent / "parity" / "networks"
SCENARIOS = sorted(RECORDED.glob("*/scenario.yaml"))

SMALL = """name = "small"
foothold = "laptop"

[zones]
office = {}
vault  = { from = ["office"] }

[hosts]
laptop = { zone = "office", image = "windows_user_host1", value = 0 }
desk   = { zone = "office", image = "linux_user_host1", reveals = ["plc"] }
plc    = { zone = "vault", image = "OP_Server", value = 1, service_value = 10 }
"""


def scenario(name: str) -> Path:
    return RECORDED / name / "scenario.yaml"


@st.composite
def random_networks(
    draw: st.DrawFn, reachability: Reachability | None = None, most_hosts: int = 24
) -> Network:
    hosts = draw(st.integers(4, most_hosts))
    return random_network(
        hosts,
        draw(st.integers(1, min(MOST_ZONES, hosts))),
        draw(st.integers(0, 2**32)),
        reachability or draw(st.sampled_from(list(Reachability))),
        draw(st.sampled_from([0.0, 0.2, 1.0])),
    )
