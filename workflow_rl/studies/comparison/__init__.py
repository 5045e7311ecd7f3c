"""Rollout and update strategies compared by measurement."""
