"""The host's side of running: target names, environments, worker processes, pool, outcome cache."""
