"""Named faults: each file is executed in a worker once its library is imported, and breaks one thing.

The worker gives it ``TARGET``, the target's name. A fault that cannot be planted there raises.
"""
