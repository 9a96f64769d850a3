"""The frames between host and worker: what goes in comes out, and what is no frame is refused."""

from __future__ import annotations

import json
import math
import os
import selectors
import struct
import threading
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorparity.core.arrays import EXTENSION_DTYPES
from tensorparity.targets.process import WorkerProcess
from tensorparity.testing.external import MISBEHAVING, external_runner, misbehave
from tensorparity.worker import protocol
from tensorparity.worker.protocol import Bits, Channel, Frame, FrameReader, ProtocolError, Ragged, Sparse

PREAMBLE = struct.Struct("<4sHHQIQI")
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
KEYS = st.text().filter(lambda key: key not in ("arrays", "$float"))  # the two words the format keeps for itself
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def written(header: dict[str, Any], arrays: dict[str, Any] | None = None, request_id: int = 7) -> bytes:
    return b"".join(bytes(view) for view in protocol.encode(protocol.RESPONSE, request_id, header, arrays))


def frames(data: bytes, reader: FrameReader, chunk: int = 1 << 30) -> list[Frame]:
    """All frames in ``data``, fed to the reader at most ``chunk`` bytes at a time."""
    found, view = [], memoryview(data)
    while len(view) or not len(reader.wanted()):
        wanted = reader.wanted()
        count = min(len(wanted), len(view), chunk)
        wanted[:count] = view[:count]
        view = view[count:]
        frame = reader.advance(count)
        if frame is not None:
            found.append(frame)
    return found


def travel(arrays: dict[str, Any], dtypes: Any = EXTENSION_DTYPES) -> dict[str, Any]:
    (frame,) = frames(written({}, arrays), FrameReader(dtypes))
    return frame.arrays


def raw_frame(header: Any, body: bytes = b"", **preamble: Any) -> bytes:
    """A frame written by hand, right but for what is asked for."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    fields = {"magic": b"TPAR", "version": protocol.VERSION, "kind": protocol.RESPONSE, "request_id": 1}
    fields |= {"header_size": len(text), "body_size": len(body), "checksum": zlib.crc32(text + body)}
    fields |= preamble
    return PREAMBLE.pack(*fields.values()) + text + body


def described(**changes: Any) -> dict[str, Any]:
    entry = {"name": "x", "kind": "dense", "dtype": "float32", "shape": [2], "offset": 0, "nbytes": 8}
    return {"arrays": [{**entry, **changes}]}


def assert_same(received: Any, sent: Any) -> None:
    assert received.dtype == sent.dtype.newbyteorder("=")
    assert received.shape == sent.shape
    little = np.ascontiguousarray(sent, sent.dtype.newbyteorder("="))
    assert received.tobytes() == little.tobytes()  # bits, not values: NaN payloads and signed zeros count


# Round trips


@pytest.mark.parametrize("dtype", sorted(protocol.DTYPES))
@given(shape=SHAPES, data=st.data())
@settings(max_examples=20, deadline=None)
def test_dense_arrays_come_back_bit_by_bit(dtype: str, shape: tuple[int, ...], data: st.DataObject) -> None:
    count = math.prod(shape) * np.dtype(dtype).itemsize
    raw = data.draw(st.binary(min_size=count, max_size=count))
    if dtype == "bool":
        raw = bytes(byte & 1 for byte in raw)
    array = np.frombuffer(raw, dtype).reshape(shape)
    assert_same(travel({"x": array})["x"], array)


@pytest.mark.parametrize(
    "array",
    [
        np.array(1.5),
        np.zeros((0, 3)),
        np.zeros((3, 0, 2), np.int8),
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(20)[::-3],
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.array([1, -2, 300], ">i4"),
        np.array([1.5, np.nan, -0.0], ">f8"),
        np.array([1 + 2j, np.inf], ">c16"),
        np.broadcast_to(np.float32(3), (4, 2)),
        np.array([True, False]),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_any_memory_layout_travels(array: np.ndarray) -> None:
    assert_same(travel({"x": array})["x"], array)


@pytest.mark.parametrize("name", sorted(protocol.BIT_DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_extension_dtypes_travel_as_bits(name: str, shape: tuple[int, ...]) -> None:
    array = np.full(shape, -1.5, getattr(ml_dtypes, name))
    assert_same(travel({"x": array})["x"], array)
    bits = travel({"x": array}, dtypes=None)["x"]  # a process without ml_dtypes
    assert isinstance(bits, Bits)
    assert bits.dtype == name
    assert_same(travel({"x": bits})["x"], array)


def test_strided_extension_dtypes_travel() -> None:
    array = np.arange(6, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(2, 3).T
    assert_same(travel({"x": array})["x"], array)


@given(st.lists(st.text(), max_size=6))
@settings(deadline=None)
def test_strings_travel(items: list[str]) -> None:
    array = np.empty(len(items), object)
    array[:] = items
    assert travel({"x": array})["x"].tolist() == items


def test_strings_keep_their_shape_and_bytes_become_text() -> None:
    array = np.array([["", "a\0b"], ["é", "日本"]], object)
    assert travel({"x": array})["x"].tolist() == array.tolist()
    assert travel({"x": np.array("alone")})["x"].shape == ()
    assert travel({"x": np.array([b"raw", "é".encode()])})["x"].tolist() == ["raw", "é"]
    assert travel({"x": np.zeros((0, 2), "U3")})["x"].shape == (0, 2)


@pytest.mark.parametrize(
    "values", [np.array([1.5, 2.5]), np.array(["a", "b"], object), Bits("bfloat16", np.array([1, 2], np.uint16))]
)
def test_sparse_and_ragged_travel_as_parts(values: Any) -> None:
    sparse = Sparse(np.array([[0, 1], [2, 3]]), values, np.array([4, 5]))
    ragged = Ragged(values, np.array([0, 1, 2]))
    received = travel({"s": sparse, "r": ragged}, dtypes=None)
    assert received["s"].indices.tolist() == [[0, 1], [2, 3]]
    assert received["s"].dense_shape.tolist() == [4, 5]
    assert received["r"].row_splits.tolist() == [0, 1, 2]
    for part in (received["s"].values, received["r"].values):
        assert type(part) is type(values)
        plain, expected = (part.bits, values.bits) if isinstance(part, Bits) else (part, values)
        assert plain.tolist() == expected.tolist()


@given(header=st.dictionaries(KEYS, JSON, max_size=4))
@settings(deadline=None)
def test_headers_come_back(header: dict[str, Any]) -> None:
    (frame,) = frames(written(header), FrameReader())
    assert repr(frame.header) == repr(header)  # repr: NaN equals itself there
    assert (frame.kind, frame.request_id) == (protocol.RESPONSE, 7)


def test_non_finite_floats_of_the_header_are_strict_json_on_the_wire() -> None:
    header = {"loss": math.inf, "deep": [{"x": -math.inf}, (math.nan, 1.0)]}
    data = written(header)
    size = PREAMBLE.unpack(data[: PREAMBLE.size])[4]

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(data[PREAMBLE.size :][:size], parse_constant=refuse)
    (frame,) = frames(data, FrameReader())
    assert frame.header["loss"] == math.inf
    assert frame.header["deep"][0] == {"x": -math.inf}
    assert math.isnan(frame.header["deep"][1][0])


def test_received_arrays_are_writable_apart_and_aligned() -> None:
    """Kernels are chosen by alignment, so how a case travelled must not show in its numbers."""
    received = travel({"x" * length: np.arange(3.0) for length in range(1, 5)})
    for array in received.values():
        assert array.flags.writeable
        assert array.ctypes.data % 64 == 0
    received["x"][:] = 0
    assert received["xx"].tolist() == [0, 1, 2]


@given(chunk=st.integers(1, 500), count=st.integers(1, 3))
@settings(deadline=None)
def test_frames_may_arrive_in_pieces_of_any_size(chunk: int, count: int) -> None:
    data = b"".join(written({"n": n}, {"x": np.arange(n * 10), "s": np.array(["é"])}, n) for n in range(count))
    received = frames(data, FrameReader(), chunk)
    assert [frame.header["n"] for frame in received] == list(range(count))
    assert [frame.arrays["x"].size for frame in received] == [n * 10 for n in range(count)]


def test_the_reader_knows_when_no_frame_is_begun() -> None:
    reader = FrameReader()
    assert reader.idle
    frames(written({})[:5], reader)
    assert not reader.idle


# What does not travel


@pytest.mark.parametrize(
    "array",
    [
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(2, [("a", "f4")]),
        np.array([object()]),
        np.array([1, None], object),
        np.array(["\ud800"], object),
        np.array([b"\xff"]),
        np.zeros(2, np.longdouble),
        np.zeros(2, ml_dtypes.int4),
        Bits("bfloat16", np.zeros(2, np.uint8)),
        Bits("float7", np.zeros(2, np.uint8)),
    ],
    ids=lambda array: str(array.dtype),
)
def test_other_arrays_are_refused_before_anything_is_written(array: Any) -> None:
    with pytest.raises(ProtocolError):
        written({}, {"x": array})


@pytest.mark.parametrize("value", [object(), {1, 2}, np.float32(1), b"bytes"])
def test_headers_that_are_not_json_are_refused(value: Any) -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        written({"x": value})


# What is no frame


def assert_refused(data: bytes, message: str | None = None) -> None:
    with pytest.raises(ProtocolError, match=message):
        frames(data, FrameReader(max_header=1 << 20, max_body=1 << 20))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"magic": b"HTTP"}, "not a frame"),
        ({"version": 2}, "version 2 arrived, version 1 is spoken"),
        ({"checksum": 1}, "checksum"),
        ({"header_size": 1 << 30}, "header of .* beyond the cap"),
        ({"body_size": 1 << 62}, "body of .* beyond the cap"),
    ],
)
def test_wrong_preambles_are_refused(change: dict[str, Any], message: str) -> None:
    assert_refused(raw_frame({}, **change), message)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[]",
        b"3",
        b"null",
        b'"text"',
        b'{"$float": "1"}',
        b'{"x": {"$float": "no number"}}',
        b'{"arrays": 1}',
        b'{"arrays": {"a": 1}}',
        b'{"arrays": [1]}',
        b'{"arrays": [{}]}',
        b"[" * 100_000,
        b'{"arrays": [{"name": "x", "kind": "string", "parts": [], "shape": [0]}]}',
    ],
)
def test_wrong_headers_are_refused(header: bytes) -> None:
    assert_refused(raw_frame(header))


@pytest.mark.parametrize(
    "change",
    [
        {"offset": 8},
        {"offset": -8},
        {"offset": 64, "nbytes": 0, "shape": [0]},
        {"offset": 1, "nbytes": 4, "shape": [1]},
        {"nbytes": -8, "shape": [-2]},
        {"nbytes": 16},
        {"shape": [-2]},
        {"shape": [-1, -2]},
        {"shape": [3]},
        {"shape": [1 << 40, 1 << 40], "nbytes": 0},
        {"shape": [1 << 62, 4]},
        {"shape": [0, 1 << 70], "nbytes": 0},
        {"shape": [1e400]},
        {"shape": [1] * 200},
        {"shape": None},
        {"shape": ["two"]},
        {"offset": "0"},
        {"offset": 0.5},
        {"dtype": "object", "shape": [1]},
        {"dtype": "f4,f4", "shape": [1]},
        {"dtype": "(1", "shape": [1]},
        {"dtype": "V8", "shape": [1]},
        {"dtype": "datetime64[D]", "shape": [1]},
        {"dtype": None, "shape": [1]},
        {"dtype": ["float32"]},
        {"kind": "pickle"},
        {"kind": ["dense"]},
        {"name": ["unhashable"]},
    ],
    ids=lambda change: str(change)[:40],
)
def test_arrays_that_lie_about_themselves_are_refused(change: dict[str, Any]) -> None:
    assert frames(raw_frame(described(), bytes(8)), FrameReader())  # without the change it is a frame
    assert_refused(raw_frame(described(**change), bytes(8)))


@pytest.mark.parametrize("offsets", [[], [0], [1, 8], [0, 9], [0, 6, 4, 8], [0, 8, 0, 8], [-8, 8], [0, 4]])
def test_strings_are_cut_once_and_completely(offsets: list[int]) -> None:
    """Overlapping strings would make gigabytes out of a small frame."""
    cuts = np.array(offsets, np.int64).tobytes()
    parts = [
        {"name": "data", "kind": "dense", "dtype": "uint8", "shape": [8], "offset": 0, "nbytes": 8},
        {"name": "offsets", "kind": "dense", "dtype": "int64", "shape": [len(offsets)], "offset": 64},
    ]
    parts[1]["nbytes"] = len(cuts)
    entry = {"name": "s", "kind": "string", "shape": [max(0, len(offsets) - 1)], "parts": parts}
    assert_refused(raw_frame({"arrays": [entry]}, b"abcdefgh".ljust(64) + cuts))


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_garbage_is_refused_or_waited_for(data: bytes) -> None:
    try:
        assert frames(data, FrameReader()) == []
    except ProtocolError:
        assert data[:4] != b"TPAR" or len(data) >= PREAMBLE.size


@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_damaged_frames_are_refused(data: st.DataObject) -> None:
    whole = bytearray(written({"a": [1.5]}, {"x": np.arange(5), "s": np.array(["ab", "c"])}))
    position = data.draw(st.integers(0, len(whole) - 1))
    whole[position] ^= data.draw(st.integers(1, 255))
    reader = FrameReader(max_header=1 << 20, max_body=1 << 20)
    try:
        received = frames(bytes(whole), reader)
    except ProtocolError:
        return
    # Only kind and request id are outside the checksum; a larger size makes the reader wait for more.
    assert not received or 6 <= position < 16


@given(cut=st.integers(1, 10_000))
@settings(deadline=None)
def test_truncated_frames_never_come_out(cut: int) -> None:
    data = written({"a": 1}, {"x": np.arange(50.0)})
    reader = FrameReader()
    assert frames(data[: -min(cut, len(data) - 1)], reader) == []
    assert not reader.idle


@given(entry=st.dictionaries(st.sampled_from(sorted(described()["arrays"][0]) + ["parts"]), JSON))
@settings(deadline=None, max_examples=300)
def test_no_description_of_an_array_raises_anything_else(entry: dict[str, Any]) -> None:
    header = json.dumps({"arrays": [{**described()["arrays"][0], **entry}]}).encode()
    try:
        (frame,) = frames(raw_frame(header, bytes(8)), FrameReader())
    except ProtocolError:
        return
    assert sum(np.asarray(array).nbytes for array in frame.arrays.values() if not isinstance(array, Bits)) <= 8


def test_nothing_is_allocated_for_a_frame_beyond_the_cap() -> None:
    tracemalloc.start()
    try:
        assert_refused(raw_frame({}, body_size=1 << 40))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_an_announced_frame_costs_memory_only_as_it_arrives() -> None:
    resident = _resident()
    reader = FrameReader()
    frames(raw_frame(b"{}", body_size=1 << 30)[: PREAMBLE.size], reader)
    assert len(reader.wanted()) == (1 << 30) + 2
    assert _resident() - resident < 64 << 20


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# The worker's blocking side, and both sides at once


def test_a_channel_sends_receives_and_notices_the_end() -> None:
    read_fd, write_fd = os.pipe()
    array = np.arange(1 << 16, dtype=np.float64)  # more than a pipe holds
    sender = threading.Thread(target=Channel(-1, write_fd).send, args=(1, 5, {"a": 1}, {"x": array}))
    sender.start()
    channel = Channel(read_fd, -1)
    frame = channel.receive()
    sender.join()
    os.close(write_fd)
    assert (frame.request_id, frame.header) == (5, {"a": 1})
    assert_same(frame.arrays["x"], array)
    assert channel.receive() is None
    os.close(read_fd)


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with external_runner(MISBEHAVING, ["misbehaving"]) as runner:
        plan = runner.desk("misbehaving").plan()
        process = WorkerProcess(plan.launch)
        process.send(1, plan.start, {})
        yield process
        process.close()


def test_large_frames_in_both_directions_at_once_do_not_deadlock(worker: WorkerProcess) -> None:
    """The worker writes its first answer while we still write the second and third request."""
    array = np.arange(4 << 20, dtype=np.float64)  # 32 MiB
    case = misbehave("echo", x=array)
    for request_id in (2, 3, 4):
        worker.send(request_id, {"do": "run", "case": case.header()}, case.arrays())
    received: list[Frame] = []
    deadline = time.monotonic() + 60
    while len(received) < 4 and time.monotonic() < deadline:
        _wait(worker)
        worker.pump_stderr()
        worker.pump_out()
        received += worker.pump_in()
    assert [frame.request_id for frame in received] == [1, 2, 3, 4]
    for frame in received[1:]:
        assert_same(frame.arrays["outputs:x"], array)


def _wait(worker: WorkerProcess) -> None:
    with selectors.DefaultSelector() as selector:
        for fd in worker.descriptors():
            selector.register(fd, selectors.EVENT_READ)
        if worker.wants_to_write:
            selector.register(worker.request_fd, selectors.EVENT_WRITE)
        selector.select(0.1)
