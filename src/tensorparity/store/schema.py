"""The tables of a store, version 1. Times are ISO 8601 strings in UTC; JSON is in the canonical dialect.

Change nothing here without raising ``VERSION`` and keeping the old sample in ``tests/store/samples``.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, PrimaryKeyConstraint, Table, Text

VERSION = 1

metadata = MetaData()

#: One row, written when all other tables are there.
store_format = Table(
    "tensorparity_store",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),  # always 1: the second writer collides
    Column("version", Integer, nullable=False),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("command", Text, nullable=False),
    Column("seed", Text, nullable=False),  # text: a seed may have more than 64 bits
    Column("settings", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("finished", Text),
    Column("stop_reason", Text),
)

results = Table(
    "results",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id"), nullable=False),
    Column("engine", Text, nullable=False),
    Column("index", Integer, nullable=False),
    Column("case_digest", Text, nullable=False),
    Column("verdicts", Text, nullable=False),
    Column("statuses", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "engine", "index"),
)

#: What a result has besides; a store of an earlier version gets the table with the first of them.
result_details = Table(
    "result_details",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id"), nullable=False),
    Column("engine", Text, nullable=False),
    Column("index", Integer, nullable=False),
    Column("document", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "engine", "index"),
)

findings = Table(
    "findings",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id"), nullable=False),
    Column("id", Text, nullable=False),
    Column("signature", Text, nullable=False),
    Column("class", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("created", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "id"),
)

#: Reports ask "was this signature seen before".
by_signature = Index("findings_by_signature", findings.c.signature)
