"""Which workflow to try next: kernel, model, acquisition, candidates, strategies, as in BoTorch.

Nothing here knows of PPO: a strategy sees what trials of orders gave, and picks an order.
"""
