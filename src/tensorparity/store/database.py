"""Campaigns, their results and their findings, kept in SQLite or PostgreSQL.

The droppable outcome cache is elsewhere: what is in here is durable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from sqlalchemy import Connection, Row, insert, inspect, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from ..core.atomic import replacing_file
from ..core.endings import without_limits
from ..core.engine import Result
from ..core.errors import StoreError
from ..core.finding import Finding
from ..core.jsontext import Json, canonical, parse
from ..core.oracle import Measures
from ..core.outcome import Status
from ..core.verdict import Verdict
from . import schema
from .casefile import SUFFIX, CaseFile, write_case
from .connection import Location, connect, locate, translated_errors

CASES = "cases"
_SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}")


@dataclass(frozen=True, slots=True)
class Campaign:
    """One row of ``campaigns``; times are ISO 8601 in UTC, None while it runs (or if it was killed)."""

    id: int
    command: str
    seed: int
    settings: Mapping[str, Json]
    started: str
    finished: str | None = None
    stop_reason: str | None = None


class Companion(Protocol):
    """A file that a script reads from its own folder."""

    @property
    def name(self) -> str: ...

    def put(self, folder: Path) -> None:
        """Write it into a folder."""


def open_store(url_or_dir: str | Path, *, folder: Path | None = None, create: bool = True) -> Store:
    """Open a store, making it if there is none.

    Args:
        url_or_dir: a folder (``store.sqlite`` in it), an SQLite file, or a database URL.
        folder: where case files and reports go; needed for a URL of a database server.
        create: off for commands that only read: a mistyped path is then an error, not an empty store.

    Raises:
        StoreError: if it cannot be opened, is damaged, of a newer format or not ours.
        UsageError: if the location makes no sense.
    """
    location = locate(url_or_dir, folder)
    return Store(location, create=create)


class Store:
    """Durable campaigns and findings.

    Every write is one transaction and is on disk when the call returns: a process killed at any
    moment loses at most the call it was in, and leaves a store that opens. Any number of processes
    may write at once; they wait for each other. One Store may be used by several threads, but not
    carried over a fork: a child opens its own. Rows are added and never changed, except that
    ``finish_campaign`` closes a campaign. What is returned is frozen and the caller's to keep.

    Every method raises StoreError if the database cannot be read or written.
    """

    def __init__(self, location: Location, *, create: bool = True) -> None:
        self._location = location
        self._engine = connect(location, create=create)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self._location)

    @property
    def folder(self) -> Path:
        """What the paths in findings are relative to."""
        return self._location.folder

    @property
    def cases(self) -> Path:
        """The folder of the case files, one folder per campaign."""
        return self.folder / CASES

    def close(self) -> None:
        """Give up the connections; the store may be used again and then reconnects."""
        self._engine.dispose()

    # Campaigns

    def begin_campaign(self, command: str, seed: int, settings: Mapping[str, Json]) -> int:
        """Record that a campaign starts now, and return its id; ids increase."""
        row = {"command": command, "seed": str(seed), "settings": canonical(settings), "started": _now()}
        with self._writing() as connection:
            inserted = connection.execute(insert(schema.campaigns).values(row)).inserted_primary_key
        assert inserted is not None
        return int(inserted[0])

    def campaign(self, campaign: int) -> Campaign:
        """The campaign of this id.

        Raises:
            StoreError: if there is none.
        """
        found = self._rows(select(schema.campaigns).where(schema.campaigns.c.id == campaign))
        if not found:
            raise StoreError(f"store {self} has no campaign {campaign}")
        return _campaign(found[0])

    def campaigns(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        return [_campaign(row) for row in self._rows(select(schema.campaigns).order_by(schema.campaigns.c.id))]

    def find_campaign(self, command: str, seed: int, settings: Mapping[str, Json]) -> Campaign | None:
        """The campaign to resume: same command, seed and settings (in any order of keys).

        The latest unfinished one, else the latest finished one, whose sequence a larger budget continues.
        """
        table = schema.campaigns
        same = (table.c.command == command) & (table.c.seed == str(seed)) & (table.c.settings == canonical(settings))
        order = (table.c.finished.is_not(None), table.c.id.desc())
        found = self._rows(select(table).where(same).order_by(*order).limit(1))
        return _campaign(found[0]) if found else None

    def finish_campaign(self, campaign: int, stop_reason: str) -> None:
        """Record that a campaign ended now, and why; again after a resume.

        Raises:
            StoreError: if there is no such campaign.
        """
        table = schema.campaigns
        change = update(table).where(table.c.id == campaign).values(finished=_now(), stop_reason=stop_reason)
        with self._writing() as connection:
            changed = connection.execute(change).rowcount
        if not changed:
            raise StoreError(f"store {self} has no campaign {campaign}")

    # Results

    def record_results(self, campaign: int, engine: str, results: Sequence[Result]) -> None:
        """Keep a round of results in one transaction; if some are there already, each of the others in its own.

        Recording the same case again changes nothing, the first verdicts stay.

        Raises:
            StoreError: if there is no such campaign, or another case has this engine and index.
        """
        if not results:
            return
        try:
            self._insert_results(campaign, engine, results)
        except _Collision:
            for result in results:
                self._record_one(campaign, engine, result)

    def _insert_results(self, campaign: int, engine: str, results: Sequence[Result]) -> None:
        rows = [_result_row(campaign, engine, result) for result in results]
        details = [row for result in results if (row := _detail_row(campaign, engine, result))]
        with self._writing() as connection:
            connection.execute(insert(schema.results), rows)
            if details:
                connection.execute(CreateTable(schema.result_details, if_not_exists=True))
                connection.execute(insert(schema.result_details), details)

    def _record_one(self, campaign: int, engine: str, result: Result) -> None:
        try:
            self._insert_results(campaign, engine, [result])
        except _Collision:
            self._require_same(campaign, engine, result)

    def _require_same(self, campaign: int, engine: str, result: Result) -> None:
        self.campaign(campaign)
        table = schema.results
        place = (table.c.campaign == campaign) & (table.c.engine == engine) & (table.c.index == result.index)
        (row,) = self._rows(select(table.c.case_digest).where(place))
        if row.case_digest != result.digest:
            raise StoreError(
                f"campaign {campaign} has case {row.case_digest[:12]} as {engine} {result.index}, now it is "
                f"{result.digest[:12]}: its generator has changed; start a new campaign instead of resuming"
            )

    def results(self, campaign: int, engine: str) -> list[Result]:
        """The results of one engine in the order of their index, whatever order they were recorded in."""
        table = schema.results
        place = (table.c.campaign == campaign) & (table.c.engine == engine)
        details = self._details(campaign, engine)
        rows = self._rows(select(table).where(place).order_by(table.c.index))
        return [_result(row, details.get(row._mapping["index"], {})) for row in rows]

    def _details(self, campaign: int, engine: str) -> dict[int, dict[str, Json]]:
        """By index, what results have besides verdicts; nothing in a store of an earlier version."""
        table = schema.result_details
        with translated_errors(self._location), self._engine.connect() as connection:
            if not inspect(connection).has_table(table.name):
                return {}
        place = (table.c.campaign == campaign) & (table.c.engine == engine)
        rows = self._rows(select(table).where(place))
        return {row._mapping["index"]: parse(row.document) for row in rows}

    def engines(self, campaign: int) -> list[str]:
        """The engines that have results in a campaign, by name."""
        column = schema.results.c.engine
        query = select(column).where(schema.results.c.campaign == campaign).distinct().order_by(column)
        return [row.engine for row in self._rows(query)]

    # Findings

    def add_finding(
        self,
        campaign: int,
        finding: Finding,
        case: CaseFile | None = None,
        *,
        original: CaseFile | None = None,
        reproducer: str | None = None,
        draft: str | None = None,
        beside: Sequence[Companion] = (),
        embed_model: bool = False,
    ) -> Finding:
        """Keep a finding with its case file, and return it as kept, its ``case`` a path in the store.

        The files are written before the row, so a row never names a file that is not there. A finding
        whose id the campaign has already is not changed: the kept one is returned.

        Args:
            original: the case before it was reduced, kept beside it.
            reproducer: the text of the script, kept beside it, too.
            draft: of an upstream report, in Markdown, likewise.
            beside: files that the script reads from its own folder.

        Raises:
            StoreError: if there is no such campaign, or the id cannot be part of a file name.
            CaseFileError, ModelRefusedError: if the case cannot be written.
        """
        if not _SAFE_ID.fullmatch(finding.id):
            raise StoreError(f"finding id {finding.id!r} cannot name a file; use letters, digits, '-', '_' and '.'")
        kept = self._stored_finding(campaign, finding.id)
        if kept is not None:
            return kept
        if case is not None:
            finding = replace(finding, case=self._keep_case(campaign, finding.id, case, embed_model))
        if original is not None:
            self._keep_case(campaign, f"{finding.id}.original", original, embed_model)
        if reproducer is not None:
            finding = replace(finding, reproducer=self._keep_text(campaign, f"{finding.id}.py", reproducer))
        if draft is not None:
            self._keep_text(campaign, f"{finding.id}.md", draft)
        for file in beside:
            self._keep_file(campaign, file)
        try:
            with self._writing() as connection:
                connection.execute(insert(schema.findings).values(_finding_row(campaign, finding)))
        except _Collision:
            self.campaign(campaign)
            return self._stored_finding(campaign, finding.id) or finding  # another process was faster
        return finding

    def update_finding(self, campaign: int, finding: Finding) -> None:
        """Keep what became known of a finding after it was filed: sightings, clusters. Its files stay as they are."""
        table = schema.findings
        row = {**_finding_row(campaign, finding)}
        del row["created"]
        place = (table.c.campaign == campaign) & (table.c.id == finding.id)
        with self._writing() as connection:
            connection.execute(update(table).where(place).values(row))

    def change_texts(self, campaign: int, finding: Finding, *, script: str | None = None, remark: str = "") -> None:
        """Keep what became known of a finding in its files.

        Args:
            script: the text that replaces its reproducer, also where the draft of its report shows it.
            remark: a section that the draft ends with.
        """
        place, draft = self.script_path(finding), self.draft_path(finding)
        told = draft.read_text(encoding="utf-8") if draft is not None else ""
        if script is not None and place is not None:
            told = told.replace(place.read_text(encoding="utf-8"), script)
            self._keep_text(campaign, place.name, script)
        if draft is not None and (remark or script is not None):
            self._keep_text(campaign, draft.name, f"{told.rstrip()}\n\n{remark}" if remark else told)

    def findings(self, campaign: int | None = None) -> list[Finding]:
        """The findings of one campaign, or of all, in the order they were added."""
        table = schema.findings
        query = select(table.c.document).order_by(table.c.campaign, table.c.created, table.c.id)
        if campaign is not None:
            query = query.where(table.c.campaign == campaign)
        return [Finding.from_json(parse(row.document)) for row in self._rows(query)]

    def case_path(self, finding: Finding) -> Path | None:
        """Where the finding's case file is; None if it has none."""
        return self.folder / finding.case if finding.case else None

    def _stored_finding(self, campaign: int, identity: str) -> Finding | None:
        table = schema.findings
        place = (table.c.campaign == campaign) & (table.c.id == identity)
        found = self._rows(select(table.c.document).where(place))
        return Finding.from_json(parse(found[0].document)) if found else None

    def keep_case(self, campaign: int, name: str, case: CaseFile) -> str:
        """Keep a case that belongs to no finding; returns its path in the store.

        Raises:
            StoreError: if the name cannot be part of a file name, or the file cannot be written.
            CaseFileError: if the case cannot be.
        """
        if not _SAFE_ID.fullmatch(name):
            raise StoreError(f"{name!r} cannot name a file; use letters, digits, '-', '_' and '.'")
        return self._keep_case(campaign, name, case, False)

    def _keep_case(self, campaign: int, identity: str, case: CaseFile, embed_model: bool) -> str:
        """Write the case file. A folder per campaign: another one may find the same with other versions."""
        relative = f"{CASES}/{campaign}/{identity}{SUFFIX}"
        try:
            write_case(self.folder / relative, case, embed_model=embed_model)
        except OSError as error:
            raise StoreError(
                f"store {self}: cannot write {relative} ({error.strerror}); check its rights and the disk's room"
            ) from error
        return relative

    def script_path(self, finding: Finding) -> Path | None:
        """Where the finding's reproducer is; None if it has none."""
        return self.folder / finding.reproducer if finding.reproducer else None

    def draft_path(self, finding: Finding) -> Path | None:
        """Where the draft of an upstream report is, beside the case; None if there is none."""
        path = self.case_path(finding)
        draft = path.with_name(f"{finding.id}.md") if path else None
        return draft if draft and draft.is_file() else None

    def _keep_text(self, campaign: int, name: str, text: str) -> str:
        relative = f"{CASES}/{campaign}/{name}"
        try:
            with replacing_file(self.folder / relative) as file:
                file.write(text.encode())
        except OSError as error:
            raise StoreError(f"store {self}: cannot write {relative} ({error.strerror}); check its rights") from error
        return relative

    def _keep_file(self, campaign: int, file: Companion) -> None:
        folder = self.cases / str(campaign)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / file.name).exists():
                file.put(folder)
        except OSError as error:
            raise StoreError(f"store {self}: cannot write {file.name} ({error.strerror}); check its rights") from error

    # The database

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction. Its first statement must write, so that SQLite queues it instead of failing it."""
        try:
            with translated_errors(self._location), self._engine.begin() as connection:
                yield connection
        except StoreError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise _Collision(str(error)) from error
            raise

    def _rows(self, query: Any) -> Sequence[Row[Any]]:
        with translated_errors(self._location), self._engine.connect() as connection:
            return connection.execute(query).all()


class _Collision(StoreError):
    """The row is there already, or its campaign is not."""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _campaign(row: Row[Any]) -> Campaign:
    return Campaign(row.id, row.command, int(row.seed), parse(row.settings), row.started, row.finished, row.stop_reason)


def _result_row(campaign: int, engine: str, result: Result) -> dict[str, Any]:
    endings = {target: status.value if status else None for target, status in result.endings.items()}
    return {
        "campaign": campaign,
        "engine": engine,
        "index": result.index,
        "case_digest": result.digest,
        "verdicts": canonical([verdict.to_json() for verdict in result.verdicts]),
        "statuses": canonical(endings),
    }


def _detail_row(campaign: int, engine: str, result: Result) -> dict[str, Any] | None:
    """What has no column of its own; most results have nothing of it."""
    measures = {
        name: {target: [float(value) for value in values] for target, values in by_target.items()}
        for name, by_target in result.measures.items()
    }
    convicted = [list(key) for key in result.convicted]
    found = {
        "measures": measures,
        "replies": dict(result.replies),
        "facts": dict(result.facts),
        "convicted": convicted,
    }
    document = {name: value for name, value in found.items() if value}
    if not document:
        return None
    return {"campaign": campaign, "engine": engine, "index": result.index, "document": canonical(document)}


def _result(row: Row[Any], details: Mapping[str, Json]) -> Result:
    values = row._mapping  # ``row.index`` is a method of tuples
    statuses = {target: Status(status) if status else None for target, status in parse(values["statuses"]).items()}
    return Result(
        index=values["index"],
        digest=values["case_digest"],
        verdicts=tuple(Verdict.from_json(verdict) for verdict in parse(values["verdicts"])),
        endings=without_limits(statuses),
        measures=_numbers(details.get("measures", {})),
        replies=details.get("replies", {}),
        facts=details.get("facts", {}),
        convicted=tuple(tuple(key) for key in details.get("convicted", ())),
    )


def _numbers(measures: Mapping[str, Mapping[str, Sequence[Json]]]) -> Measures:
    """Measures as they were told: JSON writes what is not finite as words."""
    return {
        name: {target: tuple(float(value) for value in values) for target, values in by_target.items()}
        for name, by_target in measures.items()
    }


def _finding_row(campaign: int, finding: Finding) -> dict[str, Any]:
    return {
        "campaign": campaign,
        "id": finding.id,
        "signature": finding.signature,
        "class": finding.diagnosis.klass.value,
        "document": canonical(finding.to_stored()),
        "created": _now(),
    }
