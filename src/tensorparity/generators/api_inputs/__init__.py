"""Inputs of public functions: out of signatures and documentation, and learned by trying."""

from .inputs import ApiInputs
from .listing import Api, ApiListing, Parameter
from .samples import samples_case, shipped_cases

__all__ = ["Api", "ApiInputs", "ApiListing", "Parameter", "samples_case", "shipped_cases"]
