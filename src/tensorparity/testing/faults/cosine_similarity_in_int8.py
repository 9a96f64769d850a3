"""EAGLE, section 5.2, data format equivalence: cosine_similarity of int8 is not that of int16.

The products and their sums stay in the dtype of the inputs, and wrap around.
"""

import torch

_right = torch.nn.functional.cosine_similarity


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    if x1.is_floating_point():
        return _right(x1, x2, dim=dim, eps=eps)
    product, one, two = ((a * b).sum(dim, dtype=x1.dtype).float() for a, b in ((x1, x2), (x1, x1), (x2, x2)))
    return product / (one * two).abs().sqrt().clamp_min(eps)


torch.nn.functional.cosine_similarity = cosine_similarity
