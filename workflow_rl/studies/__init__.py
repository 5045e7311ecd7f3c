"""Studies of many trainings: the landscape of all orders, update strategies compared."""
