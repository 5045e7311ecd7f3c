"""A run's recommended order to take away: for people, as a CACAO playbook, and read back."""
