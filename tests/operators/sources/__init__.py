"""Every reference of the catalogue against independent sources: other people's float64 implementations.

``table.py`` says which sources compute what; ``in_torch`` and ``in_tensorflow`` are those implementations, each run
in a process of its own (``child.py``); ``measure.py`` says how far apart two answers are; ``page.py`` writes
docs/references.md.
"""
