"""Data flows one way, so imports do too."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "workflow_rl"

# Each layer may import those before it, and itself.
LAYERS = (
    "errors",
    "config",
    "files",
    "processes",
    "scenario",
    "sim",
    "envs",
    "parity",
    "workflow",
    "baselines",
    "ppo",
    "train",
    "ordersearch",
    "experiment",
    "evaluation",
    "play",
    "report",
    "landscape",
    "comparison",
    "bench",
    "cli",
)

# Where a heavy or optional library may be imported at all.
ONLY_IN = {
    "gymnasium": {"envs", "bench/vector_contenders.py"},
    "torch": {
        "ppo",
        "train",
        "ordersearch",
        "experiment",
        "evaluation/sb3.py",
        "comparison",
        "bench",
    },
    "botorch": {"ordersearch/gp.py"},
    "gpytorch": {"ordersearch/gp.py", "ordersearch/kernel.py"},
    "ray": {
        "experiment/ray_cluster.py",
        "experiment/ray_errors.py",
        "experiment/ray_workers.py",
        "comparison/ray_place.py",
        "bench/scale_cluster.py",
    },
    "stable_baselines3": {
        "envs/sb3.py",
        "evaluation/sb3.py",
        "bench/contenders.py",
        "bench/vector_contenders.py",
    },
    "CybORG": {"envs/cyborg_import.py"},
    "mini_CAGE": {"bench/contenders.py"},
    "rich": {"envs/render.py", "cli"},
    "prompt_toolkit": {"cli/play.py"},
    "plotly": {"report/figures", "report/page.py"},
    "jinja2": {"report/page.py"},
    "markupsafe": {"report/page.py"},
    "scipy": {"landscape"},
}
SMALL_LAYERS = {"scenario", "sim"}
SMALL_LAYERS_MAY_USE = {"numpy", "numba", "workflow_rl"}


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


def test_every_module_belongs_to_a_layer() -> None:
    assert {layer_of(path) for path in modules()} - {None} == set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_to_the_left(path: Path) -> None:
    layer = layer_of(path)
    if layer is None:
        return
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    ours = {n.split(".")[1] for n in imported(path) if n.startswith("workflow_rl.")}
    assert ours - {"__version__"} <= allowed


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_libraries_stay_where_they_belong(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    for library in {n.split(".")[0] for n in imported(path)} & set(ONLY_IN):
        assert any(name == place or name.startswith(f"{place}/") for place in ONLY_IN[library])


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_game_itself_needs_only_numpy_and_numba(path: Path) -> None:
    if layer_of(path) in SMALL_LAYERS:
        import sys

        roots = {n.split(".")[0] for n in imported(path)}
        assert roots - set(sys.stdlib_module_names) <= SMALL_LAYERS_MAY_USE


def test_no_module_shadows_a_library() -> None:
    import sys

    names = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.name for path in PACKAGE.iterdir() if path.is_dir()
    }
    assert not names & (set(sys.stdlib_module_names) | {"torch", "numpy", "numba", "gymnasium"})
