"""The fused engine: PPO's loss and its gradient in compiled code, for MLPs on sparse integers."""
