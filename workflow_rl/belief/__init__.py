"""Where Red is now, as far as Blue's own history tells: a filter on the rules of the game."""
