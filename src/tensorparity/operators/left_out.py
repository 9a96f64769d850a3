"""Public layers of Keras that the catalogue does not declare: other names of those it does, and why not the rest."""

from __future__ import annotations

_DIMS = (1, 2, 3)

#: Another name, and the layer it is.
ALIASES: dict[str, str] = {
    **{f"AvgPool{n}D": f"AveragePooling{n}D" for n in _DIMS},
    **{f"MaxPool{n}D": f"MaxPooling{n}D" for n in _DIMS},
    **{f"GlobalAvgPool{n}D": f"GlobalAveragePooling{n}D" for n in _DIMS},
    **{f"GlobalMaxPool{n}D": f"GlobalMaxPooling{n}D" for n in _DIMS},
    **{f"Convolution{n}D": f"Conv{n}D" for n in _DIMS},
    **{f"Convolution{n}DTranspose": f"Conv{n}DTranspose" for n in _DIMS},
    **{f"SeparableConvolution{n}D": f"SeparableConv{n}D" for n in (1, 2)},
    "GroupedQueryAttention": "GroupQueryAttention",
}

_CELL = "a step of a recurrent layer, declared as a parameter of RNN"
_WORDS = (
    "reads strings, which no tensor of JAX or torch can hold and no other layer gives; "
    "its table and its hashes are IntegerLookup's"
)

#: The reason why a layer is not declared.
LEFT_OUT: dict[str, str] = {
    "Layer": "the base class",
    "Wrapper": "a base class",
    "InputLayer": "the input of a graph, not a node of it",
    "Pipeline": "layers one after another, which is a graph",
    **dict.fromkeys(("SimpleRNNCell", "GRUCell", "LSTMCell", "StackedRNNCells"), _CELL),
    **dict.fromkeys(("StringLookup", "TextVectorization"), _WORDS),
    "MaxNumBoundingBoxes": "reads a dictionary of boxes, not tensors",
    "RandomCrop": "documented to resize and crop in inference, where it does nothing (trophies)",
    "ContrastLimitedAdaptiveHistogramEqualization": "a histogram per tile: no formula is documented",
}
