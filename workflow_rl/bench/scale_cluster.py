"""A Ray cluster of many nodes on this machine, to measure what scheduling costs."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ray.cluster_utils import Cluster

from workflow_rl.processes import deaf_children

_OBJECT_STORE: Final = 80_000_000  # bytes of each node


@contextmanager
def simulated_cluster(nodes: int) -> Iterator[str]:
    """Gives the address of a cluster whose nodes have one processor each, but for the head."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with deaf_children():
        cluster: Any = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": _OBJECT_STORE,
                "include_dashboard": False,
            },
        )
    try:
        with deaf_children():
            for _ in range(nodes):
                cluster.add_node(num_cpus=1, object_store_memory=_OBJECT_STORE)
        yield cluster.address
    finally:
        cluster.shutdown()
