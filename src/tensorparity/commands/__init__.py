"""One file per command: each puts engines, oracles and the loop together, and returns Facts for ``cli`` to print."""
