"""The Ray cluster: started here or joined, and checked before any work."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psutil
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.processes import interrupts_blocked
from workflow_rl.runs.ray import (
    Installed,
    clear_folder_of_trainings,
    difference,
    folder_of_trainings,
    installed,
)

CONNECT_SECONDS: Final = 5.0  # for the port of an address to answer
JOIN_SECONDS: Final = 30.0  # to connect to the cluster behind it
ANSWER_SECONDS: Final = 120.0  # for every node to say what is installed there
_OBJECT_STORE: Final = 200_000_000  # bytes, of a Ray started here: a base policy is 40 kB
_AUTO: Final = "auto"
_LOOPBACK: Final = "127.0.0.1"
_RAYLET: Final = "raylet"  # the process of a node
_RAY_DIED: Final = (
    "workflow-rl: error: the Ray that was started here has died; what is finished is kept: go on "
    "with --resume RUN\n"
)
_JOIN: Final = (
    "import ray, sys\nray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR')\n"
)


@contextmanager
def connected(address: str | None, number: int) -> Iterator[None]:
    """Connects to Ray for the block.

    A Ray that was started for the block ends with it. A cluster that was joined stays as it was,
    and so does a connection that the program already had.

    Args:
        address: of the cluster to join: host:port, or `auto`; None starts Ray on this machine.
        number: tasks at a time that a Ray started here has room for.

    Raises:
        InvalidInputError: the cluster cannot be reached, or not be used.
    """
    if ray.is_initialized():
        _check_nodes()
        yield
        return
    if address is not None:
        _rehearse(address)
    with contextlib.ExitStack() as stack:
        if address is None:
            stack.enter_context(folder_of_trainings())
        with _own_sigterm():
            if address is None:
                _start(number)
            else:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        stack.callback(ray.shutdown)
        if address is None:
            stack.enter_context(_end_with_ray())
        _check_nodes()
        yield


def _start(number: int) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with interrupts_blocked():
            ray.init(
                address="local",
                _node_ip_address=_LOOPBACK,
                num_cpus=number,
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE,
                log_to_driver=False,
                logging_level="ERROR",
            )
    except (OSError, RuntimeError, ValueError) as error:
        ray.shutdown()
        raise InvalidInputError(f"Ray cannot be started on this machine: {error}") from error


def _rehearse(address: str) -> None:
    """Joins the cluster in a process that can be stopped: Ray itself tries for minutes."""
    if address != _AUTO:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or "/" in host:
            raise InvalidInputError(
                f"--ray-address must be host:port or {_AUTO}, not {shown(address)}; run this on a "
                "machine of the cluster, on its head node for example"
            )
        try:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise InvalidInputError(f"no Ray cluster answers at {address}: {error}") from error
    try:
        tried = subprocess.run(
            [sys.executable, "-c", _JOIN, address],
            capture_output=True,
            text=True,
            timeout=JOIN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidInputError(
            f"{address} answers, but there was no connection within {JOIN_SECONDS:g} s: it is not "
            "a Ray cluster, or not a healthy one"
        ) from error
    if tried.returncode:
        said = [line.strip() for line in tried.stderr.splitlines() if line.strip()]
        raise InvalidInputError(
            f"the Ray cluster at {address} cannot be joined: {said[-1] if said else 'no reason'}"
        )


def _check_nodes() -> None:
    """Asks every node that can train what is installed there, and refuses other versions."""

    def ask() -> Installed | str:  # inside a function, so that it travels without the package
        try:
            import workflow_rl
        except ImportError as error:
            return str(error)
        try:
            from workflow_rl.runs.ray import installed
        except ImportError:
            return {"workflow-rl": workflow_rl.__version__}
        return installed()

    nodes = {
        node["NodeID"]: node["NodeManagerHostname"]
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    }
    answers = {
        ray.remote(ask)
        .options(
            num_cpus=0,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        .remote(): name
        for node, name in nodes.items()
    }
    if not answers:
        return  # nodes that join later are asked when they begin their first training
    ready, late = ray.wait(list(answers), num_returns=len(answers), timeout=ANSWER_SECONDS)
    for answer in late:
        raise InvalidInputError(
            f"the node {answers[answer]} does not answer within {ANSWER_SECONDS:g} s"
        )
    for answer in ready:
        name = answers[answer]
        try:
            there = ray.get(answer)
        except ray.exceptions.RayError:
            continue  # it went away meanwhile
        if isinstance(there, str):
            raise InvalidInputError(
                f"the node {name} lacks workflow-rl ({there}): install version "
                f"{installed()['workflow-rl']} on every node"
            )
        other = difference(there, installed())
        if other is not None:
            raise InvalidInputError(
                f"the node {name} {other}: results are only the same where both are"
            )


@contextmanager
def _end_with_ray() -> Iterator[None]:
    """Prints an error and exits when the Ray that was started here dies.

    Ray itself ends a process whose raylet is gone, with only a line in its log. What is finished
    is on disk, and what is under way is as after kill -9.
    """
    over = threading.Event()

    def watch(raylet: int) -> None:
        with open(os.pidfd_open(raylet), "rb") as process:
            select.select([process], [], [])
        if not over.is_set():
            clear_folder_of_trainings()
            os.write(2, _RAY_DIED.encode())
            os._exit(1)

    for child in psutil.Process().children():
        if child.name() == _RAYLET:
            threading.Thread(target=watch, args=(child.pid,), daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keeps our SIGTERM handler, which Ray replaces by its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
