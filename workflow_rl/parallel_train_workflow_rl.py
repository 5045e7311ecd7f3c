"""The documented entry point: `python workflow_rl/parallel_train_workflow_rl.py --n-envs 200 ...`.

The same as `workflow-rl search` with the same flags, but for what trials start from: by default, as
documented, from a base policy that is trained for the run (`--warm-start common`).
"""

import sys
from pathlib import Path

# A script started by its path has its own folder first on the path; its parent belongs there.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from workflow_rl.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(["search", *sys.argv[1:]], documented=True))
