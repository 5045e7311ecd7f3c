"""Data flows one way, so imports do too."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "workflow_rl"

# Each layer may import those before it, and itself.
LAYERS = (
    *("errors", "estimates", "scenario"),
    *("config", "provenance", "processes", "files", "jit", "arrays"),
    *("sim", "belief", "nets"),
    *("envs", "parity", "workflow", "agents", "evaluation"),
    *("ppo", "train", "ordersearch", "runs"),
    *("pages", "playbook", "studies", "cli", "api"),
)

# Where a heavy or optional library may be imported at all.
ONLY_IN = {
    "pydantic": {"config"},
    "pydantic_core": {"config"},
    "gymnasium": {"envs"},
    "torch": {"ppo", "train", "ordersearch", "processes.py", "agents/sb3.py", "studies"},
    "botorch": set(),  # a reference for tests
    "gpytorch": set(),
    "threadpoolctl": {"ordersearch/fitting.py"},
    "ray": {"runs/cluster.py", "runs/ray.py"},
    "onnx": {"agents/onnx_graph.py", "agents/export.py", "agents/export_memory.py"},
    "pettingzoo": {"envs/parallel.py"},
    "stable_baselines3": {"envs/sb3.py", "agents/sb3.py"},
    "CybORG": {"envs/cyborg_import.py"},
    "psutil": {"processes.py", "runs"},
    "rich": {"envs/render.py", "cli"},
    "prompt_toolkit": {"cli/play.py"},
    "plotly": {"pages/style.py", "pages/page.py"},
    "jinja2": {"pages/page.py", "playbook/writing.py"},
    "markupsafe": {"pages/page.py"},
    "scipy": {"estimates.py", "ordersearch/fitting.py"},
    "safetensors": {"files.py"},
    "pyarrow": {"runs"},
    "tensorboard": {"runs"},
    "llvmlite": {"sim/bits.py"},
    "yaml": {"scenario/yaml_tree.py"},
}
SMALL_LAYERS = {"scenario", "sim", "belief"}
SMALL_LAYERS_MAY_USE = {"numpy", "numba", "llvmlite", "yaml", "workflow_rl"}  # the third is numba's


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yields the full name of every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer_of(path: Path) -> str | None:
    """Returns the layer of a file; the package's root (exports, entry points) has none."""
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    entry_points = {"__init__", "__main__", "parallel_train_workflow_rl"}
    return None if part in entry_points else part


def test_imports_only_go_to_the_left() -> None:
    wrong = []
    for path in modules():
        layer = layer_of(path)
        if layer is None:
            continue
        allowed = {*LAYERS[: LAYERS.index(layer) + 1], "__version__"}
        ours = {n.split(".")[1] for n in imported(path) if n.startswith("workflow_rl.")}
        wrong += [f"{path.relative_to(PACKAGE)} imports {name}" for name in ours - allowed]
    assert not wrong


def test_heavy_libraries_stay_where_they_belong() -> None:
    wrong = []
    for path in modules():
        name = path.relative_to(PACKAGE).as_posix()
        for library in {n.split(".")[0] for n in imported(path)} & set(ONLY_IN):
            places = ONLY_IN[library]
            if not any(name == place or name.startswith(f"{place}/") for place in places):
                wrong.append(f"{name} imports {library}")
    assert not wrong


def test_the_game_itself_needs_only_numpy_and_numba() -> None:
    wrong = []
    for path in modules():
        if layer_of(path) in SMALL_LAYERS:
            roots = {n.split(".")[0] for n in imported(path)} - set(sys.stdlib_module_names)
            wrong += [f"{path.name} imports {name}" for name in roots - SMALL_LAYERS_MAY_USE]
    assert not wrong
