"""Code that layers of several types run through, as far as their parameters tell: a defect in it is one defect."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SharedCode:
    """A base class, or a helper, of several layer types.

    Args:
        parameters: those that it reads itself; what else a layer has is that layer's own.
    """

    name: str
    parameters: tuple[str, ...]

    def reads_all(self, parameters: Collection[str]) -> bool:
        """Whether it is the one that reads all of these, of which there are some."""
        return bool(parameters) and set(parameters) <= set(self.parameters)


#: The loop over the steps of a sequence, around whatever cell.
RECURRENT = SharedCode(
    "recurrent",
    ("return_sequences", "return_state", "go_backwards", "unroll", "stateful", "zero_output_for_mask"),
)
_WINDOW = ("strides", "padding", "dilation_rate", "data_format")
#: The function that convolves, around which layers put a bias, an activation or the gates of a cell.
CONVOLUTION = SharedCode("convolution", _WINDOW)
#: The one that convolves each channel by itself.
DEPTHWISE_CONVOLUTION = SharedCode("depthwise convolution", _WINDOW)
