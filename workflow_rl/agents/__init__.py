"""Blue agents without networks, and what the winner's agent put between policy and game."""
