import numpy as np

from workflow_rl.agents.agent import uniforms


def test_a_draw_depends_on_seed_step_and_number_alone() -> None:
    many = uniforms(5, 3, 1000)
    assert (uniforms(5, 3, 10) == many[:10]).all()
    assert (uniforms(5, 4, 1000) != many).all()
    assert (uniforms(6, 3, 1000) != many).all()
    assert many.min() >= 0
    assert many.max() < 1
    assert abs(many.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 1000)


def test_any_seed_will_do() -> None:
    assert len(uniforms(2**64 + 1, 0, 3)) == 3
