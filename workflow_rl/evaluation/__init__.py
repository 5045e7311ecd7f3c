"""The challenge's evaluation: agents by name, the nine cells, the files and the leaderboard."""
