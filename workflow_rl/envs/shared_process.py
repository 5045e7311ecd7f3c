"""One worker process as its parent holds it: started, woken, asked, mourned."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

from gymnasium.vector.utils import clear_mpi_env_vars

from workflow_rl.envs.shared_block import AnonymousFile
from workflow_rl.envs.shared_worker import LISTEN, Job, Message, Task, run_worker
from workflow_rl.processes import deaf_children

_TAIL: Final = 4_000  # characters of a dead worker's output that are shown
_SIGNALS: Final = {signal_.value: signal_.name for signal_ in signal.Signals}


class WorkerProcess:
    """A worker and the parent's ends of what joins them."""

    def __init__(
        self,
        context: Any,
        task: Task,
        bell: Connection,
        seeds: Sequence[int] | None,
        strangers: Sequence[Connection],
    ) -> None:
        """Starts the process.

        Args:
            context: of multiprocessing.
            task: what it is to do.
            bell: what it rings when its parent waits for it.
            seeds: of a replacement, which starts all its episodes anew.
            strangers: ends that a forked process has and must not keep open.
        """
        self.envs = range(task.first, task.first + len(task.env_fns))
        self.is_starting = True
        self.started_at = time.monotonic()
        self._is_gone = False
        wake, self.wake = context.Pipe(duplex=False)
        talk, self.talk = context.Pipe()
        self.output = AnonymousFile()
        if context.get_start_method() == "fork":
            strangers = [*strangers, self.wake, self.talk]
        else:
            strangers = ()
        job = Job(task, wake, talk, bell, self.output, seeds, strangers)
        self.process = context.Process(
            target=run_worker, args=(job,), name=f"workflow-rl {self}", daemon=True
        )
        with deaf_children(), clear_mpi_env_vars():
            self.process.start()
        wake.close()
        talk.close()
        os.set_blocking(self.wake.fileno(), False)

    def __str__(self) -> str:
        """Names its environments."""
        first, last = self.envs[0], self.envs[-1]
        return f"environment {first}" if first == last else f"environments {first} to {last}"

    @property
    def ends(self) -> list[Connection]:
        """The parent's ends."""
        return [] if self._is_gone else [self.wake, self.talk]

    def write(self, message: bytes) -> None:
        """Wakes it."""
        # Broken: it is dead, which the pool finds out. Blocking: it has enough wake-ups to read.
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self.wake.fileno(), message)

    def command(self, message: Message) -> None:
        """Gives it a command; if it is dead, the pool finds out."""
        with suppress(OSError):
            self.talk.send(message)
            self.write(LISTEN)

    def obituary(self) -> str:
        """Says how it ended."""
        self.process.join(1)
        code = self.process.exitcode
        how = f"ended with code {code}"
        if code is not None and code < 0:
            how = f"was killed by {_SIGNALS.get(-code, f'signal {-code}')}"
        return f"the worker of {self} {how}"

    def last_output(self) -> str:
        """Says what it printed last."""
        size = os.fstat(self.output.descriptor).st_size
        kept = os.pread(self.output.descriptor, _TAIL, max(0, size - _TAIL))
        text = kept.decode(errors="replace").strip()
        return f"; its last output:\n{text}" if text else "; it had printed nothing"

    def forget(self) -> None:
        """Kills the process, if it is there, and closes everything."""
        if self._is_gone:
            return
        self._is_gone = True
        self.process.kill()
        self.process.join()
        self.process.close()
        for end in (self.wake, self.talk, self.output):
            end.close()
