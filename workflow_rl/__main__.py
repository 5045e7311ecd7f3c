"""Runs the command line as `python -m workflow_rl`."""

import sys

from workflow_rl.cli import main

if __name__ == "__main__":
    sys.exit(main())
