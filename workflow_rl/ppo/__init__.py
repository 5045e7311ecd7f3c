"""PPO: pure arithmetic, a rollout that uses how often observations repeat, and the update."""
