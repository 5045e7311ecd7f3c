"""What holds in a process forked from this one."""

import os
import traceback
from collections.abc import Callable


def holds_in_a_fork(check: Callable[[], object]) -> bool:
    """Whether a check raises nothing there, and the process does not die of it."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            check()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0
