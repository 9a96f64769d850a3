"""From what the user wrote behind ``--store`` to an engine with our tables in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from ..core.errors import NoStoreError, StoreError, UsageError
from . import schema

DATABASE_NAME = "store.sqlite"

#: How long a writer waits for another one. A transaction takes milliseconds; a loaded disk, seconds.
BUSY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Location:
    """Where a store is: its database, and the folder of its case files and reports."""

    url: URL
    folder: Path

    def __str__(self) -> str:
        return self.url.database or "" if self.is_sqlite else self.url.render_as_string(hide_password=True)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"


def locate(url_or_dir: str | Path, folder: Path | None = None) -> Location:
    """Understand a folder, an SQLite file or a database URL.

    Raises:
        UsageError: if it is none of these, or a URL leaves open where case files go.
    """
    if isinstance(url_or_dir, str) and "://" in url_or_dir:
        return _locate_url(url_or_dir, folder)
    path = Path(url_or_dir)
    database = path if path.is_file() else path / DATABASE_NAME
    return Location(URL.create("sqlite", database=str(database)), folder or database.parent)


def _locate_url(text: str, folder: Path | None) -> Location:
    try:
        url = make_url(text)
        url.get_dialect()  # raises for a kind of database nobody knows
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        scheme = text.partition("://")[0]  # not the whole text: it may have a password in it
        raise UsageError(f"{scheme!r} URL of a store is not understood; use a folder or a postgresql:// URL") from error
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise UsageError("a store needs a file; use sqlite:///FILE or a folder")
        return Location(url, folder or Path(url.database).parent)
    if folder is None:
        shown = url.render_as_string(hide_password=True)
        raise UsageError(f"store {shown} does not say where case files go; name a folder with --out")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")  # the driver our extra installs
    return Location(url, folder)


def connect(location: Location, *, create: bool) -> Engine:
    """Open the database, making or checking its tables.

    Raises:
        StoreError: if there is none (and ``create`` is off), or it is damaged, newer or not ours.
    """
    if location.is_sqlite:
        _prepare_file(location, create)
    try:
        engine = create_engine(location.url)
    except ImportError as error:
        raise StoreError(f"store {location}: {error}; install the driver (tensorparity[postgres])") from error
    try:
        with translated_errors(location):
            if location.is_sqlite:
                event.listen(engine, "connect", _set_pragmas)
                _patiently(lambda: _use_wal(engine))
            _patiently(lambda: _ensure_schema(engine, location, create))
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def translated_errors(location: Location) -> Iterator[None]:
    """Turn what the database raises into a StoreError of one line."""
    try:
        yield
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        raise StoreError(f"store {location}: {reason}; {_advice(reason)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"store {location}: {' '.join(str(error).split())}") from error


def _advice(reason: str) -> str:
    if "not a database" in reason or "malformed" in reason:
        return "move the file away, or restore it from a backup"
    if "locked" in reason:
        return "another process holds it; end that one or use another store"
    return "check that the database can be reached and written, and that its disk has room"


def _prepare_file(location: Location, create: bool) -> None:
    file = Path(location.url.database or "")
    if not create and not file.is_file():
        raise NoStoreError(f"there is no store at {file}; give the folder of an earlier run")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"store {file}: its folder cannot be made ({error.strerror}); use another one") from error


def _set_pragmas(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA foreign_keys = ON")
    # With a write-ahead log, a killed process loses nothing this way; only a power cut may cost the last rows.
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def _use_wal(engine: Engine) -> None:
    """Readers and the writer do not wait for each other; the setting stays with the file."""
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _patiently(action: Callable[[], None], seconds: float = BUSY_SECONDS) -> None:
    """Repeat while another process opens the same new store: neither SQLite nor PostgreSQL waits for that by itself."""
    end = time.monotonic() + seconds
    while True:
        try:
            return action()
        except (OperationalError, IntegrityError) as error:
            collided = isinstance(error, IntegrityError) or "locked" in str(error.orig)
            if not collided or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _ensure_schema(engine: Engine, location: Location, create: bool) -> None:
    with engine.connect() as connection:
        if _is_current(connection, location):
            return
    if not create:
        raise StoreError(f"{location} is not a store of tensorparity; give the folder of an earlier run")
    # The row comes last: a store whose creation was interrupted has none, and is completed here.
    with engine.begin() as connection:
        for table in schema.metadata.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
        connection.execute(CreateIndex(schema.by_signature, if_not_exists=True))
        connection.execute(insert(schema.store_format).values(id=1, version=schema.VERSION))


def _is_current(connection: Connection, location: Location) -> bool:
    tables = set(inspect(connection).get_table_names())
    if schema.store_format.name not in tables:
        foreign = sorted(tables & set(schema.metadata.tables))
        if foreign:
            raise StoreError(f"{location} has tables {foreign} of somebody else; use another database")
        return False
    version = connection.execute(select(schema.store_format.c.version)).scalar()
    if version is not None and version > schema.VERSION:
        raise StoreError(
            f"store {location} has format {version}, this version of tensorparity reads {schema.VERSION}; "
            "update tensorparity or use another store"
        )
    return version is not None
