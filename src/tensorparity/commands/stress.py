"""``compare --stress``: how far apart can two targets come on inputs like the user's?"""

from __future__ import annotations

from collections.abc import Sequence

from ..campaign.events import Listener
from ..campaign.loop import run_engines
from ..campaign.session import CampaignSession
from ..core.errors import TensorParityError, UsageError
from ..core.jsontext import Json
from ..core.model import Model
from ..core.oracle import Setup
from ..engines.audee.stress import StressEngine, StressSettings
from ..generators.inputs.models import Data
from ..operators.catalogue import has_layer
from ..targets.catalogue import traits_of
from ..targets.model_layers import read_model
from ..targets.runner import LocalRunner
from ..triage.examine import Examiner


def stress_model(
    runner: LocalRunner,
    model: Model,
    data: Data,
    targets: Sequence[str],
    settings: StressSettings,
    seed: int,
    listener: Listener,
) -> tuple[list[Json], list[str]]:
    """By pair, how far apart the model came; and why it was not searched, where it could not be."""
    try:
        whole = model if model.graph is not None else read_model(runner, model, targets)
        engine = _engine(whole, data, targets, settings, seed)
    except TensorParityError as error:
        return [], [f"not stressed: {error}"]
    setup = Setup(seed, tuple(targets), traits_of(targets))
    session = CampaignSession(Examiner(runner, setup), None, listener, resumable=False)
    run_engines(session, [engine])
    return list(engine.tables()["stress"]), []


def _engine(model: Model, data: Data, targets: Sequence[str], settings: StressSettings, seed: int) -> StressEngine:
    graph = model.graph
    assert graph is not None
    unknown = next((node for node in graph.nodes if not has_layer(node.op)), None)
    if unknown is not None:
        raise UsageError(f"layer {unknown.layer} ({unknown.op}) is not in the catalogue")
    return StressEngine(graph, model.weights, data.inputs, targets, settings, seed)
