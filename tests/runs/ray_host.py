"""A Ray cluster of several nodes on this machine, in a process of its own.

Run as a script it holds the cluster and obeys lines on its standard input.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

OBJECT_STORE = 80_000_000  # bytes of each node
_SECONDS = 120


class RayHost:
    """A cluster whose head node trains nothing and whose other nodes have one processor each."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._said: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.pid = process.pid
        self.raylets: list[int] = []  # a process for each node that trains
        self.address: str = self._answer()["address"]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._said.put(line)

    def _answer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._said.get(timeout=_SECONDS))
        return found

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def add_node(self, **environment: str) -> int:
        """Adds a node, perhaps with other environment variables; returns its raylet's process."""
        self.raylets.append(int(self.ask(do="add", environment=environment)["raylet"]))
        return self.raylets[-1]

    def remove_node(self, raylet: int) -> None:
        """Takes a node away without a warning."""
        self.raylets.remove(raylet)
        self.ask(do="remove", raylet=raylet)


@contextmanager
def ray_host(nodes: int) -> Iterator[RayHost]:
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"},
    )
    try:
        host = RayHost(process)
        for _ in range(nodes):
            host.add_node()
        yield host
    finally:
        assert process.stdin is not None
        process.stdin.close()  # it ends its cluster and itself then
        try:
            process.wait(timeout=60)
        finally:
            os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
            assert process.stdout is not None
            process.stdout.close()


def _hold_cluster() -> None:
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "object_store_memory": OBJECT_STORE,
            "include_dashboard": False,
        },
    )
    nodes: dict[int, Any] = {}

    def say(**answer: Any) -> None:
        print(json.dumps(answer), flush=True)

    say(address=cluster.address)
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "add":
            node = cluster.add_node(
                num_cpus=1, object_store_memory=OBJECT_STORE, env_vars=command["environment"]
            )
            raylet = node.all_processes["raylet"][0].process.pid
            nodes[raylet] = node
            say(raylet=raylet)
        else:
            cluster.remove_node(nodes.pop(command["raylet"]), allow_graceful=False)
            say(removed=True)
    cluster.shutdown()


if __name__ == "__main__":
    _hold_cluster()
