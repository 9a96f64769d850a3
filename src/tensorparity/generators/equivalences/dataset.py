"""Rule 11, Dataset and DataLoader: a function of an input, and the same mapped over a data set of such inputs."""

from __future__ import annotations

from .base import Category, Variant

DATASET = Variant(
    "dataset",
    11,
    Category.FORMAT,
    "F(I) = F(Dataset(I))",
    {"jax": "it has no data sets", "keras": "its models take those of its backends: rule 15"},
    cost=1,
    variant="dataset",
)
