"""Every public layer of Keras is declared, another name of one, or left out for a reason."""

from __future__ import annotations

from tensorparity.operators.catalogue import has_layer, layer, layer_names
from tensorparity.operators.known_classes import LAYERS
from tensorparity.operators.left_out import ALIASES, LEFT_OUT

#: Layers that load code or models of another library; never a class that a file may name.
FOREIGN = {"FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper"}


def test_every_public_layer_is_accounted_for() -> None:
    assert set(LAYERS) - FOREIGN == set(layer_names()) | set(ALIASES) | set(LEFT_OUT)


def test_nothing_is_accounted_for_twice() -> None:
    assert not set(layer_names()) & (set(ALIASES) | set(LEFT_OUT))
    assert not set(ALIASES) & set(LEFT_OUT)
    assert all(has_layer(name) for name in ALIASES.values())


def test_random_layers_pass_their_input_on_in_inference() -> None:
    random = [layer(name) for name in layer_names() if layer(name).random]
    assert len(random) >= 30
    assert all("inference" in spec.formula or "training" in spec.formula for spec in random)
