"""The table of engines; what an engine promises is in ``core/engine``."""

from __future__ import annotations

from ..core.engine import EngineFactory
from ..core.registry import Registry

ENGINES: Registry[EngineFactory] = Registry(
    "engine",
    {
        "audee": "tensorparity.engines.audee.engine:AudeeEngine",
        "cradle": "tensorparity.engines.cradle:CradleEngine",
        "eagle": "tensorparity.engines.eagle.engine:EagleEngine",
        "muffin": "tensorparity.engines.muffin.engine:MuffinEngine",
        "predoo": "tensorparity.engines.predoo.engine:PredooEngine",
    },
)
