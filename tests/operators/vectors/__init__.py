"""Vectors at the edges: what every declared function and layer gives at infinities, NaN, zeros, ties and both ends of
the range, computed by hand or by mpmath from the definition, never by the references that they are held against.
"""
