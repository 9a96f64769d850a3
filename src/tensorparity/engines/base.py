"""The table of engines; what an engine promises is in ``core/engine``."""

from __future__ import annotations

from ..core.engine import EngineFactory
from ..core.registry import Registry

ENGINES: Registry[EngineFactory] = Registry(
    "engine",
    {
        "cradle": "tensorparity.engines.cradle:CradleEngine",
        "muffin": "tensorparity.engines.muffin:MuffinEngine",
        "predoo": "tensorparity.engines.predoo.engine:PredooEngine",
    },
)
