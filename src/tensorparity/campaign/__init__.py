"""The loop around everything: examine models, run engines under a budget, tell what happens."""
