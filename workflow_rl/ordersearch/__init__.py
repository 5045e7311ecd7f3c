"""Which workflow to try next: a Gaussian process over orders, and the loop around it.

Nothing here knows of PPO: the loop sees an objective that values an order, and an executor.
"""
