"""EAGLE, Figure 1: a time-major bidirectional RNN turns its backward half round on the batch axis (TensorFlow 2.1)."""

import torch

_right = torch.rnn_tanh


def rnn_tanh(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    output, state = _right(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    if not bidirectional or batch_first:
        return output, state
    ahead, back = output.chunk(2, dim=-1)
    return torch.cat([ahead, back.flip(0).flip(1)], dim=-1), state


torch.rnn_tanh = rnn_tanh
