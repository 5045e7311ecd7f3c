"""Ray: the cluster, started here or joined and checked before any work, and tasks on it.

The only module that imports Ray. Any node may go away at any time.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import ray
from ray.cluster_utils import Cluster
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayError,
    RaySystemError,
    RayTaskError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from workflow_rl.errors import InvalidInputError, MissingDependencyError, TrainingFailedError
from workflow_rl.processes import interrupts_blocked
from workflow_rl.runs.pool import Attempt, Done, Event, Failed, ParallelPool, Rows
from workflow_rl.runs.remote import (
    Begun,
    Finished,
    Installed,
    clear_folder_of_trainings,
    difference,
    folder_of_trainings,
    installed,
    run_remotely,
)
from workflow_rl.runs.store import TrainingFolder

_POLL_SECONDS: Final = 1.0  # between looks at the clock
_UNKNOWN_NODE: Final = "an unknown node"
CONNECT_SECONDS: Final = 5.0  # for the port of an address to answer
JOIN_SECONDS: Final = 30.0  # for the cluster behind it to take us in
ANSWER_SECONDS: Final = 120.0  # for every node to say what is installed there
_OBJECT_STORE: Final = 200_000_000  # bytes, of a Ray started here: a base policy is 40 kB
_SIMULATED_STORE: Final = 80_000_000  # bytes, of each node of a simulated cluster
_AUTO: Final = "auto"
_LOOPBACK: Final = "127.0.0.1"
_RAY_DIED: Final = (
    "workflow-rl: error: the Ray that was started here has died; what is finished is kept: go on "
    "with --resume RUN\n"
)
_JOIN: Final = (
    "import ray, sys\nray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR')\n"
)


class RayPool(ParallelPool):
    """Runs each task as one Ray task, in a temporary folder of its node that is sent here.

    No file system is shared. A node that goes away takes the tasks it was running with it, with
    their checkpoints: they begin again elsewhere.
    """

    def __init__(
        self,
        capacity: int,
        time_limit: float | None = None,
        *,
        fresh: bool = False,
        work: Callable[..., Iterator[Any]] = run_remotely,
    ) -> None:
        """Prepares a pool; `connected` has made the connection.

        Args:
            capacity: tasks at a time; the cluster lets wait what it has no processor for.
            time_limit: seconds after which an attempt is given up.
            fresh: whether every task gets a new process.
            work: what runs on a node.
        """
        super().__init__(capacity, time_limit)
        # Attempts are counted here, not by Ray: a second one must not be mistaken for the first.
        options: dict[str, Any] = {"max_calls": 1} if fresh else {}
        self._work = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming", **options)(work)
        self._streams: dict[Attempt, Any] = {}
        self._hosts: dict[Attempt, str] = {}

    def _begin(self, attempt: Attempt) -> None:
        self._forget(attempt)
        self._streams[attempt] = self._work.remote(attempt.task, installed())
        self._hosts[attempt] = _UNKNOWN_NODE

    def _forget(self, attempt: Attempt) -> None:
        if attempt.task.folder is not None:
            TrainingFolder(attempt.task.folder).clear()

    def _hear(self, running: list[Attempt]) -> Iterator[Event]:
        """Waits for a message, then takes one of each task that has one by then."""
        streams = [self._streams[attempt] for attempt in running]
        ready, _ = ray.wait(streams, num_returns=1, timeout=_POLL_SECONDS)
        if ready and len(streams) > 1:
            ready, _ = ray.wait(streams, num_returns=len(streams), timeout=0)
        known = {id(stream) for stream in ready}
        for attempt in [a for a in running if id(self._streams[a]) in known]:
            yield from self._take(attempt)

    def _take(self, attempt: Attempt) -> Iterator[Event]:
        """Takes one message of a task, or notices that it is lost."""
        host = self._hosts[attempt]
        try:
            message = ray.get(next(self._streams[attempt]))
        except RayTaskError as error:
            cause = cause_of(error, host)
            if isinstance(cause, TrainingFailedError):
                attempt.end = Failed(attempt.task, str(cause))
                return
            if not isinstance(cause, OSError):
                raise cause from error
            reason = f"{host} says: {cause}"
        except (RayError, StopIteration) as error:
            reason = how_lost(error, host)
        else:
            yield from self._understand(attempt, message)
            return
        yield from self._again(attempt, attempt.after_loss(reason), reason)

    def _understand(self, attempt: Attempt, message: Any) -> Iterator[Event]:
        task = attempt.task
        if isinstance(message, Begun):
            self._hosts[attempt], attempt.started = message.host, time.monotonic()
        elif isinstance(message, Finished):
            if task.folder is not None:
                TrainingFolder(task.folder).complete(message.files)
            attempt.end = Done(task, message.result)
        else:
            if task.folder is not None:  # whoever reads the run meanwhile sees how far it is
                TrainingFolder(task.folder).updates.append(*message)
            yield Rows(task, message)

    def _stop(self, attempt: Attempt) -> str:
        ray.cancel(self._streams[attempt], force=True)
        return f" on {self._hosts[attempt]}"

    def close(self) -> None:
        """Ends what is running."""
        for attempt, stream in self._streams.items():
            if attempt.end is None:
                ray.cancel(stream, force=True)
        self._streams, self._hosts = {}, {}


@contextmanager
def connected(address: str | None, number: int) -> Iterator[None]:
    """Connects to Ray for the block.

    A Ray that was started for the block ends with it. A cluster that was joined stays as it was,
    and so does a connection that the program already had.

    Args:
        address: of the cluster to join: host:port, or `auto`; None starts Ray on this machine.
        number: trainings at a time that a Ray started here has room for.

    Raises:
        InvalidInputError: the cluster cannot be reached, or not be used.
    """
    if ray.is_initialized():
        _check_nodes()
        yield
        return
    if address is not None:
        _rehearse(address)
    with _quiet(), contextlib.ExitStack() as stack:
        if address is None:
            stack.enter_context(folder_of_trainings())
        with _own_sigterm():
            _start(number) if address is None else _join(address)
        stack.callback(ray.shutdown)
        if address is None:
            stack.enter_context(_end_with_ray())
        _check_nodes()
        yield


def _start(number: int) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with interrupts_blocked(), _on_loopback():
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


def _join(address: str) -> None:
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")


def _rehearse(address: str) -> None:
    """Joins the cluster in a process that can be stopped: Ray itself tries for minutes.

    Raises:
        InvalidInputError: it cannot be joined.
    """
    if address != _AUTO:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or "/" in host:
            raise InvalidInputError(
                f"--ray-address must be host:port or {_AUTO}, not {address!r}; run this on a "
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
            f"what answers at {address} did not take us in within {JOIN_SECONDS:g} s: "
            "it is no Ray cluster, or an ailing one"
        ) from error
    if tried.returncode:
        said = [line.strip() for line in tried.stderr.splitlines() if line.strip()]
        raise InvalidInputError(
            f"the Ray cluster at {address} cannot be joined: {said[-1] if said else 'no reason'}"
        )


def _check_nodes() -> None:
    """Asks every node that can train what is installed there.

    Raises:
        InvalidInputError: a node lacks the package, has another version, or does not answer.
    """

    def ask() -> Installed | str:  # inside a function, so that it travels without the package
        try:
            import workflow_rl
        except ImportError as error:
            return str(error)
        try:
            from workflow_rl.runs.remote import installed
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
def simulated_cluster(nodes: int) -> Iterator[str]:
    """Yields the address of a Ray cluster whose nodes have one processor each, the head none."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with interrupts_blocked():
        cluster: Any = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": _SIMULATED_STORE,
                "include_dashboard": False,
            },
        )
    try:
        with interrupts_blocked():
            for _ in range(nodes):
                cluster.add_node(num_cpus=1, object_store_memory=_SIMULATED_STORE)
        yield cluster.address
    finally:
        cluster.shutdown()


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Lets a Ray that is started in the block listen to this machine only.

    On Linux Ray turns the loopback address into one that others can reach, unless clusters are off.
    """
    constants: Any = sys.modules.get("ray._private.ray_constants")
    before = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    if before is None:  # another version of Ray
        yield
        return
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _end_with_ray() -> Iterator[None]:
    """Says so when the Ray that was started here dies, and ends: nothing else would be said.

    Ray itself ends a process whose raylet is gone, by a line of its log. What is finished is on
    disk, and what is under way is as after kill -9.
    """
    worker: Any = sys.modules.get("ray._private.worker")
    node = getattr(worker, "_global_node", None)
    raylets = getattr(node, "all_processes", {}).get("raylet", [])
    over = threading.Event()

    def watch(process: Any) -> None:
        process.wait()
        if not over.is_set():
            clear_folder_of_trainings()
            os.write(2, _RAY_DIED.encode())
            os._exit(1)

    for raylet in raylets:
        threading.Thread(target=watch, args=(raylet.process,), daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keeps our answer to SIGTERM, which Ray replaces by one of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Ray from printing pages on standard output when it loses a node: we say so."""
    module: Any = sys.modules.get("ray._private.worker")
    before = getattr(module, "print_to_stdstream", None)
    if before is None:  # another version of Ray: it stays as loud as it is
        yield
        return
    module.print_to_stdstream = lambda *args, **kwargs: None
    try:
        yield
    finally:
        module.print_to_stdstream = before


def cause_of(error: RayTaskError, host: str) -> Exception:
    """Returns what to raise here for an error that was raised on a node."""
    cause: Exception = error.cause
    if isinstance(cause, MissingDependencyError):
        return InvalidInputError(f"on the node {host}: {cause}")
    if isinstance(cause, (ImportError, RaySystemError)):
        why = str(cause).splitlines()[0].removeprefix("System error: ")
        return InvalidInputError(
            f"a node that joined the cluster cannot load workflow-rl ({why}): install "
            f"version {installed()['workflow-rl']} on every node, then go on with --resume"
        )
    return cause


def how_lost(error: Exception, host: str) -> str:
    """Returns in words how what ran on a node was lost."""
    if isinstance(error, NodeDiedError):
        return f"the node {host} went away"
    if isinstance(error, OutOfMemoryError):
        return f"the node {host} ran out of memory"
    if isinstance(error, WorkerCrashedError):
        return f"its process on {host} died"
    if isinstance(error, ObjectLostError):
        return f"its result went away with the node {host}"
    return f"of {type(error).__name__} on {host}"
