"""Native torch: single calls of its functions, and exported programs (``.pt2``), eager or compiled."""

from ...contract import Unsupported


def make_adapter(flavour, options):
    """Return the adapter of a torch flavour."""
    if flavour in ("", "eager"):
        from .eager import EagerAdapter

        return EagerAdapter(flavour, options)
    if flavour == "compile":
        from .compiled import CompiledAdapter

        return CompiledAdapter(flavour, options)
    raise Unsupported("no adapter for torch:{}".format(flavour))
