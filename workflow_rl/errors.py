"""The exceptions a user of the package can meet."""


class InvalidInputError(ValueError):
    """Something the caller passed is wrong; the message says what is allowed.

    The command line prints the message as one sentence and exits with code 2.
    """


class NotResetError(RuntimeError):
    """An environment was stepped or rendered before its first reset."""


class MissingDependencyError(InvalidInputError, ImportError):
    """What was asked for needs something not installed; the message says how to install it."""


class WorkerDiedError(RuntimeError):
    """A worker process died and is not, or no more, replaced; the message has its last output."""


class EnvironmentFailedError(RuntimeError):
    """An environment raised an exception in its worker; the message has its index and traceback."""


class EnvironmentTimeoutError(TimeoutError):
    """Environments took longer than allowed; the message says which."""
