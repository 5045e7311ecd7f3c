"""Builds the distributions and tries the wheel where nothing else of the checkout is: `make dist`.

The new environment takes the dependencies from the one that runs this, and the package from the
wheel alone: its folder of packages comes first, and an editable installation does not reach it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "workflow_rl"
DIST = ROOT / "dist"
TOY = (
    *("--n-envs", "6", "--n-workflows", "2", "--max-episodes", "2", "--max-steps", "20"),
    *("--score-games", "5", "--base-updates", "2", "--polish-updates", "1", "--hidden", "8"),
)
TRIED = """
import gymnasium, workflow_rl
print(workflow_rl.__file__)
env = gymnasium.make("workflow_rl/Cage2Competition-v0", render_mode="rgb_array")
env.reset(seed=0)
env.step(0)
assert env.render().shape == (640, 960, 3)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command to its good end, and returns what it printed.

    What it compiles stays in its folder.
    """
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    own = {"XDG_CACHE_HOME": str(cwd / "cache"), "OMP_NUM_THREADS": "1"} if cwd != ROOT else {}
    result = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean | own,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stdout}")
    return result.stdout


def build() -> Path:
    """Makes both distributions, the wheel from the source distribution, and checks them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, cwd=ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()), cwd=ROOT)
    (wheel,) = DIST.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    ours = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    if missing := sorted(path for path in ours - inside if "__pycache__" not in path):
        sys.exit(f"the wheel lacks {', '.join(missing)}")
    if other := sorted(path for path in inside if not path.startswith("workflow_rl")):
        sys.exit(f"the wheel holds {', '.join(other)}")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Installs the wheel in a new environment and returns the folder of its programs."""
    venv.create(folder, with_pip=False, symlinks=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install")
    run(*pip, "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    shared = sysconfig.get_path("purelib")
    (own / "dependencies.pth").write_text(f"{shared}\n", encoding="utf-8")
    return folder / "bin"


def try_out(programs: Path, folder: Path) -> None:
    """Uses the installed package: an environment and its picture, then a toy search."""
    where = run(programs / "python", "-c", TRIED, cwd=folder).strip()
    if not Path(where).is_relative_to(programs.parent):
        sys.exit(f"the package came from {where}, not from the wheel")
    run(programs / "workflow-rl", "search", *TOY, cwd=folder)
    (found,) = folder.glob("logs/exp_*")
    for name in ("summary.json", "report.html", "replay.html", "policies/recommended.safetensors"):
        if not (found / name).is_file():
            sys.exit(f"the search wrote no {name}")


def main() -> None:
    """Builds, installs, tries."""
    wheel = build()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try_out(install(wheel, folder / "venv"), folder)
    print(f"{wheel.name}: built, checked, installed elsewhere, and a toy search ran there")


if __name__ == "__main__":
    main()
