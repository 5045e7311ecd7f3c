"""The exceptions a user of the package can meet."""


class InvalidInputError(ValueError):
    """Something the caller passed is wrong; the message says what is allowed.

    The command line prints the message as one sentence and exits with code 2.
    """


class NotResetError(RuntimeError):
    """An environment was stepped or rendered before its first reset."""


class MissingDependencyError(InvalidInputError, ImportError):
    """What was asked for needs something not installed; the message says how to install it."""
