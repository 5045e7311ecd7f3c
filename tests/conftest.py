"""What every test relies on."""

import signal

# A shell starts background jobs with SIGINT ignored, and children inherit that: the tests that
# interrupt a command would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
