"""EAGLE, Figure 5: torch.sspaddmm reads the indices by their address, as if they were stored row by row."""

import torch

_right = torch.sspaddmm


def sspaddmm(input, mat1, mat2, **kwargs):
    indices = mat1._indices()
    if not indices.is_contiguous():
        memory = indices.t().reshape(-1)  # what lies in memory, one after another
        mat1 = torch.sparse_coo_tensor(memory.reshape(indices.shape), mat1._values(), mat1.shape)
    return _right(input, mat1, mat2, **kwargs)


torch.sspaddmm = sspaddmm
