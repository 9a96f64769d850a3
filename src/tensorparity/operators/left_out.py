"""Public layers, activations and optimizers of Keras that are not declared: other names, and why not the rest."""

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
_WORDS = "reads strings, and a graph's inputs are numbers: declared as a call (``text_layers``)"

#: The reason why a layer is not declared.
LEFT_OUT: dict[str, str] = {
    "Layer": "the base class",
    "Wrapper": "a base class",
    "InputLayer": "the input of a graph, not a node of it",
    "Pipeline": "layers one after another, which is a graph",
    **dict.fromkeys(("SimpleRNNCell", "GRUCell", "LSTMCell", "StackedRNNCells"), _CELL),
    **dict.fromkeys(("StringLookup", "TextVectorization"), _WORDS),
    "MaxNumBoundingBoxes": "reads a dictionary of boxes, not tensors",
}

#: Functions of ``keras.activations`` that are declared as calls, and not as a layer's ``activation``.
ACTIVATIONS_LEFT_OUT: dict[str, str] = {
    "glu": "halves an axis, so that it changes the shape that a layer announces",
    "threshold": "has required arguments, which a name cannot give",
}

#: Names in ``keras.activations`` that compute nothing.
NO_ACTIVATIONS = ("deserialize", "get", "serialize")

#: The same of optimizers.
OPTIMIZERS_LEFT_OUT: dict[str, str] = {
    "Optimizer": "the base class",
    "OptimizerMap": "the table of MultiOptimizer, no optimizer",
}
