"""Which targets run many individuals with weights of their own in one case."""

from __future__ import annotations

from ...core.traits import TargetTraits


def runs_populations(traits: TargetTraits) -> bool:
    """Whether a target takes its weights apart from the model, and compiles no model anew for each of them."""
    return traits.lowering != "onnx" and not traits.compiled
