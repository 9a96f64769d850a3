"""EAGLE, Figure 1: a time-major bidirectional RNN turns its backward half round on the batch axis; here in torch.nn."""

import torch

_functions = torch.nn.modules.rnn._VF
_right = _functions.rnn_tanh


def rnn_tanh(*args):
    output, state = _right(*args)
    if len(args) != 9 or not args[7] or args[8]:  # packed, one direction only, or batch-major
        return output, state
    ahead, back = output.chunk(2, dim=-1)
    return torch.cat([ahead, back.flip(0).flip(1)], dim=-1), state


_functions.rnn_tanh = rnn_tanh
