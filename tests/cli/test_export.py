from pathlib import Path

import onnxruntime

from tests.agents.policies import ORDER, new_policy, policy_file
from tests.cli.run import run_here


def test_a_policy_is_exported_beside_itself_or_where_it_is_said(tmp_path: Path) -> None:
    policy = new_policy(conditioned=True, order=ORDER)
    policy_file(tmp_path / "policies" / "recommended.safetensors", policy)
    here, there = tmp_path / "policies" / "recommended.onnx", tmp_path / "new" / "p.onnx"
    said = run_here("export", ".", cwd=tmp_path)
    assert said.startswith("onnx: policies/recommended.onnx (")
    run_here("export", "policies/recommended.safetensors", "--output", str(there), cwd=tmp_path)
    assert here.read_bytes() == there.read_bytes()
    model = onnxruntime.InferenceSession(here.read_bytes(), providers=["CPUExecutionProvider"])
    assert [given.name for given in model.get_inputs()] == ["observation", "order"]


def test_a_policy_that_comes_with_the_package_is_exported_here(tmp_path: Path) -> None:
    for flags, file, inputs in (
        ([], "universal.onnx", ["observation", "order", "mask"]),
        (["--with-memory"], "universal.memory.onnx", ["observation", "state", "order"]),
    ):
        said = run_here("export", "universal", *flags, cwd=tmp_path)
        assert said.startswith(f"onnx: {file} (")
        content = (tmp_path / file).read_bytes()
        model = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        assert [given.name for given in model.get_inputs()] == inputs
