"""Every Blue agent, and the one way from a policy's outputs to actions."""

from workflow_rl.agents.agent import BlueAgent

__all__ = ["BlueAgent"]
