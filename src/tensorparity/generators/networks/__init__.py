"""Generated networks: a structure, then a layer for every vertex of it, then every number that goes in."""
