"""Single cases, run beside networks: what networks seldom or never show, each kind in a stream of its own."""
