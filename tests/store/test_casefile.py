"""Case files: what goes in comes out, byte for byte; what a stranger put in is refused."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tensorparity.core.arrays import EXTENSION_DTYPES
from tensorparity.core.case import ApiCall, ArrayArg, Case, Counterpart, ModelFile
from tensorparity.core.errors import CaseFileError, ModelRefusedError
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.jsontext import canonical, parse
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.store import container, npy
from tensorparity.store.casefile import CaseFile, read_case, verify_model, write_case

SAMPLES = Path(__file__).parent / "samples"
SAMPLE_DIGEST = "af7314f615ae60e55a5d24e4ae12a57194ff76ec8d993d6dcc212ffa0b9af67d"

Members = dict[str, Any]


def small_graph() -> LayerGraph:
    build = GraphBuilder("small")
    x = build.input("x", (4,))
    first = build.add("Dense", x, units=3, activation="relu")
    return build.build(build.add("Dense", first, units=2, bias_value=float("nan")))


def small_case(**changes: Any) -> Case:
    parts: dict[str, Any] = {
        "subject": small_graph(),
        "procedure": Procedure(Goal.GRADIENTS, loss=Recipe("mean_squared_error", {"delta": float("inf")})),
        "inputs": {"x": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)},
        "labels": {"dense_2": np.zeros((2, 2), np.float32)},
        "weights": {"dense_1/kernel": np.ones((4, 3), ml_dtypes.bfloat16)},
        "seed": 7,
    }
    return Case(**{**parts, **changes})


def assert_same(read: Case, written: Case) -> None:
    assert read.digest == written.digest
    assert canonical(read.header()) == canonical(written.header())
    assert list(read.arrays()) == list(written.arrays())
    for name, array in written.arrays().items():
        got = read.arrays()[name]
        assert got.shape == array.shape
        if array.dtype.kind in "UO":
            assert got.tolist() == array.tolist()
        else:
            assert got.dtype == array.dtype.newbyteorder("=")
            assert got.tobytes() == array.astype(got.dtype).tobytes()


# Round trips

dtypes = st.sampled_from(sorted(npy.PLAIN_DTYPES) + sorted(EXTENSION_DTYPES) + ["string"])
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
texts = st.text(st.characters(codec="utf-8"), max_size=5)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    dtype, shape = draw(dtypes), draw(shapes)
    size = int(np.prod(shape))
    if dtype == "string":
        flat = np.empty(size, object)
        flat[:] = draw(st.lists(texts, min_size=size, max_size=size))
        return flat.reshape(shape)
    if dtype == "bool":
        return draw(hnp.arrays(np.bool_, shape))
    found = EXTENSION_DTYPES.get(dtype) or np.dtype(dtype)
    # Random bits: every NaN with its payload, signed zeros, subnormals.
    bits = draw(st.binary(min_size=size * found.itemsize, max_size=size * found.itemsize))
    return np.frombuffer(bits, found).reshape(shape)


params = st.dictionaries(
    st.text("abcdefg_", min_size=1, max_size=6),
    st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(st.floats(), max_size=3),
    max_size=3,
)
names = st.text("abcxyz/_#.0", min_size=1, max_size=8)
groups = st.dictionaries(names, arrays(), max_size=3)


@st.composite
def graphs(draw: st.DrawFn) -> LayerGraph:
    build = GraphBuilder(draw(texts))
    tensors = [build.input("x", draw(st.tuples(st.none() | st.integers(0, 5), st.integers(1, 9))))]
    for _ in range(draw(st.integers(0, 4))):
        op = draw(st.sampled_from(["Dense", "Conv2D", "Add"]))
        inputs = draw(st.lists(st.sampled_from(tensors), min_size=1, max_size=2))
        tensors.append(build.add(op, *inputs, **draw(params)))
    if len(tensors) > 1:
        again = build._nodes[-1]
        tensors.append(build.add(again.op, tensors[0], again=again.layer))  # shared weights
    return build.build(tensors[-1])


calls = st.builds(
    lambda value, keywords: ApiCall("torch.fmod", (ArrayArg("a"), value, (1, ArrayArg("b"))), keywords),
    st.floats() | texts,
    params,
)
procedures = st.builds(
    Procedure,
    goal=st.sampled_from(Goal),
    mode=st.sampled_from(Mode),
    trace=st.booleans(),
    nodes=st.lists(names, max_size=2).map(tuple),
    loss=st.none() | st.builds(Recipe, texts, params),
    batch_size=st.none() | st.integers(1, 9),
)
cases = st.builds(
    Case,
    subject=graphs() | calls,
    procedure=procedures,
    inputs=groups,
    labels=groups,
    weights=groups,
    cotangents=groups,
    seed=st.integers(),
    counterpart=st.none() | st.builds(Counterpart, st.none() | graphs(), st.none() | procedures),
)


@settings(max_examples=80, deadline=None)
@given(cases, st.lists(texts, max_size=2), st.dictionaries(texts, st.dictionaries(texts, texts)), texts)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    case: Case,
    targets: list[str],
    versions: dict[str, dict[str, str]],
    note: str,
) -> None:
    folder = tmp_path_factory.mktemp("round")
    written = CaseFile(case, tuple(targets), versions, {"keras:jax": "conv-padding"}, note)
    write_case(folder / "a.tpcase", written)
    read = read_case(folder / "a.tpcase")
    assert_same(read.case, case)
    assert (read.targets, read.versions, read.faults, read.note) == (tuple(targets), versions, written.faults, note)
    write_case(folder / "b.tpcase", read)
    assert (folder / "a.tpcase").read_bytes() == (folder / "b.tpcase").read_bytes()


def test_bytes_depend_on_values_only(tmp_path: Path) -> None:
    plain = np.arange(6, dtype=np.int32).reshape(2, 3)
    for number, array in enumerate((plain, np.asfortranarray(plain), plain.astype(">i4"), plain[::-1][::-1])):
        case = small_case(inputs={"x": array}, labels={}, weights={})
        write_case(tmp_path / f"{number}.tpcase", CaseFile(case))
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1


def test_fixed_width_strings_come_back_as_objects_with_the_same_digest(tmp_path: Path) -> None:
    case = small_case(inputs={"x": np.array([["ä", "long word"], ["", "\U0001f600"]])})
    write_case(tmp_path / "a.tpcase", CaseFile(case))
    read = read_case(tmp_path / "a.tpcase").case
    assert read.inputs["x"].dtype == object
    assert read.digest == case.digest


def test_arrays_read_are_read_only(tmp_path: Path) -> None:
    write_case(tmp_path / "a.tpcase", CaseFile(small_case(labels={"s": np.array(["a"])})))
    for array in read_case(tmp_path / "a.tpcase").case.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


def test_sample_of_format_1_reads_for_ever(tmp_path: Path) -> None:
    sample = SAMPLES / "case-format-1.tpcase"
    read = read_case(sample)
    assert read.case.digest == SAMPLE_DIGEST
    assert read.targets == ("keras:torch", "keras:jax")
    assert read.versions["keras:jax"] == {"jax": "0.5.0"}
    assert read.case.inputs["words"].tolist() == ["", "ä"]
    write_case(tmp_path / "again.tpcase", read)
    assert (tmp_path / "again.tpcase").read_bytes() == sample.read_bytes()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.tpcase"
    write_case(file, CaseFile(small_case()))
    before = file.read_bytes()
    with pytest.raises(CaseFileError, match="'inputs:x'.*may hold strings only, got int"):
        write_case(file, CaseFile(small_case(inputs={"x": np.array([1, "a"], dtype=object)})))
    with pytest.raises(CaseFileError, match="dtype 'datetime64"):
        write_case(file, CaseFile(small_case(inputs={"x": np.zeros(1, "M8[s]")})))
    with pytest.raises(CaseFileError, match="not JSON.*object"):
        write_case(file, CaseFile(small_case(subject=ApiCall("a.b", (object(),)))))
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_case_too_large_to_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_TOTAL_BYTES", 300)
    with pytest.raises(CaseFileError, match="the limit is 300"):
        write_case(tmp_path / "a.tpcase", CaseFile(small_case()))


# Models and faults


def model_case(tmp_path: Path, content: bytes = b"a model", kind: str = "onnx") -> Case:
    file = tmp_path / "mine.onnx"
    file.write_bytes(content)
    model = ModelFile(str(file), hashlib.sha256(content).hexdigest(), kind)
    return Case(model, inputs={"x": np.zeros((1, 2), np.float32)})


def test_embedded_model_needs_trust_and_is_extracted(tmp_path: Path) -> None:
    case = model_case(tmp_path)
    file = tmp_path / "a.tpcase"
    write_case(file, CaseFile(case), embed_model=True)
    assert str(tmp_path).encode() not in file.read_bytes()
    with pytest.raises(CaseFileError, match=r"embeds 'model.bin'.*--trust"):
        read_case(file, scratch=tmp_path / "s")
    with pytest.raises(CaseFileError, match="scratch folder"):
        read_case(file, trust=True)
    read = read_case(file, trust=True, scratch=tmp_path / "s").case
    assert isinstance(read.subject, ModelFile)
    assert Path(read.subject.path).parent == tmp_path / "s"
    assert Path(read.subject.path).suffix == ".onnx"
    assert read.digest == case.digest
    verify_model(read.subject)


def test_both_sides_of_an_equivalence_get_the_extracted_model(tmp_path: Path) -> None:
    case = model_case(tmp_path)
    assert isinstance(case.subject, ModelFile)
    case = Case(case.subject, counterpart=Counterpart(case.subject, Procedure(batch_size=1)))
    write_case(tmp_path / "a.tpcase", CaseFile(case), embed_model=True)
    read = read_case(tmp_path / "a.tpcase", trust=True, scratch=tmp_path / "s").case
    assert read.counterpart is not None
    assert read.counterpart.subject == read.subject
    assert read.digest == case.digest


def test_model_left_outside_keeps_its_path(tmp_path: Path) -> None:
    case = model_case(tmp_path)
    write_case(tmp_path / "a.tpcase", CaseFile(case))
    assert read_case(tmp_path / "a.tpcase").case.subject == case.subject


def test_embedded_model_that_is_another_one(tmp_path: Path) -> None:
    write_case(tmp_path / "a.tpcase", CaseFile(model_case(tmp_path)), embed_model=True)
    file = edit(tmp_path, lambda members: members.update({"model.bin": b"evil"}))
    with pytest.raises(CaseFileError, match="embedded model has sha256"):
        read_case(file, trust=True, scratch=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_model_without_model_subject(tmp_path: Path) -> None:
    write_case(tmp_path / "a.tpcase", CaseFile(small_case()))
    file = edit(tmp_path, lambda members: members.update({"model.bin": b"x"}))
    with pytest.raises(CaseFileError, match="its subject is a layer-graph"):
        read_case(file, trust=True, scratch=tmp_path / "s")


def test_a_factory_needs_trust(tmp_path: Path) -> None:
    write_case(tmp_path / "a.tpcase", CaseFile(model_case(tmp_path, kind="factory")))
    with pytest.raises(CaseFileError, match="format 'factory', which can run code.*--trust"):
        read_case(tmp_path / "a.tpcase")
    read_case(tmp_path / "a.tpcase", trust=True)


def test_verify_model(tmp_path: Path) -> None:
    model = model_case(tmp_path).subject
    assert isinstance(model, ModelFile)
    verify_model(model)
    Path(model.path).write_bytes(b"changed")
    with pytest.raises(ModelRefusedError, match="has changed"):
        verify_model(model)
    with pytest.raises(ModelRefusedError, match="has changed"):
        write_case(tmp_path / "a.tpcase", CaseFile(Case(model)), embed_model=True)
    Path(model.path).unlink()
    with pytest.raises(ModelRefusedError, match="cannot be read"):
        verify_model(model)


def test_fault_files_need_trust_and_are_extracted(tmp_path: Path) -> None:
    for folder, text in (("a", "one"), ("b", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my fault.py").write_text(text)
    faults = {"x": str(tmp_path / "a/my fault.py"), "y": str(tmp_path / "b/my fault.py"), "z": "relu-slope"}
    file = tmp_path / "a.tpcase"
    write_case(file, CaseFile(small_case(), faults=faults))
    with pytest.raises(CaseFileError, match=r"'fault/my_fault-2.py', 'fault/my_fault.py'.*--trust"):
        read_case(file)
    read = read_case(file, trust=True, scratch=tmp_path / "s")
    assert [Path(read.faults[target]).read_text() for target in "xy"] == ["one", "two"]
    assert read.faults["z"] == "relu-slope"


def test_a_named_fault_needs_no_trust(tmp_path: Path) -> None:
    write_case(tmp_path / "a.tpcase", CaseFile(small_case(), faults={"torch:eager": "relu-slope"}))
    assert read_case(tmp_path / "a.tpcase").faults == {"torch:eager": "relu-slope"}


def test_missing_fault_file(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="cannot be read"):
        write_case(tmp_path / "a.tpcase", CaseFile(small_case(), faults={"x": str(tmp_path / "no.py")}))


# API names


def test_api_names(tmp_path: Path) -> None:
    file = tmp_path / "a.tpcase"
    write_case(file, CaseFile(Case(ApiCall("torch.fmod", (ArrayArg("a"), 2.0)), inputs={"a": np.ones(2)})))
    read_case(file)
    read_case(file, api_known={"torch.fmod"}.__contains__)
    with pytest.raises(CaseFileError, match="'torch.fmod', which is no public function"):
        read_case(file, api_known=lambda name: False)


@pytest.mark.parametrize("name", ["eval", "os.system('x')", "torch.__class__", "torch.fmod\n", "", "a..b"])
def test_names_that_are_no_api(tmp_path: Path, name: str) -> None:
    write_case(tmp_path / "a.tpcase", CaseFile(small_case(counterpart=Counterpart(ApiCall(name)))))
    with pytest.raises(CaseFileError, match="no public function"):
        read_case(tmp_path / "a.tpcase")


# Hostile files, made for real


def edit(folder: Path, change: Callable[[Members], object], *, compress: bool = False) -> Path:
    """Rewrite ``a.tpcase`` as an attacker would: with any members at all."""
    with zipfile.ZipFile(folder / "a.tpcase") as archive:
        members: Members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(
        folder / "evil.tpcase", "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    ) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return folder / "evil.tpcase"


def edit_index(folder: Path, change: Callable[[Any], object]) -> Path:
    def apply(members: Members) -> None:
        index = parse(members["case.json"])
        members["case.json"] = canonical(change(index) or index).encode()

    return edit(folder, apply)


def npy_bytes(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def refused(file: Path, match: str) -> None:
    with pytest.raises(CaseFileError, match=match) as caught:
        read_case(file)
    message = str(caught.value)
    assert message.startswith(str(file))
    assert "\n" not in message
    assert "; " in message, "says what to do"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = np.array(["a", "bc"])
    write_case(tmp_path / "a.tpcase", CaseFile(small_case(labels={"words": words})))
    return tmp_path


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "a.tpcase"


@pytest.mark.parametrize("content", [b"", b"PK", b"hello", b"\x93NUMPY" * 99, b"PK\x05\x06"])
def test_no_zip(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    refused(tmp_path / "x", "not a case file|truncated")


def test_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "none.tpcase", "cannot be read.*No such file")
    refused(tmp_path, "cannot be read.*directory")


def test_every_truncation(file: Path) -> None:
    content = file.read_bytes()
    for size in range(0, len(content), 97):
        file.write_bytes(content[:size])
        refused(file, "truncated|not a case file|damaged")


def test_every_flipped_byte_is_refused_or_harmless(file: Path) -> None:
    content, digest = file.read_bytes(), read_case(file).case.digest
    for place in range(0, len(content), 7):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            assert read_case(file).case.digest == digest  # a timestamp, say
        except CaseFileError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either way is right


def test_broken_checksum(file: Path) -> None:
    content = file.read_bytes()
    place = content.index(b'"note"')
    file.write_bytes(content[:place] + b'"NOTE"' + content[place + 6 :])
    refused(file, "'case.json' is damaged.*CRC.*copy the file again")


def test_something_appended(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")
    refused(file, "truncated or has something appended")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.npy", "arrays/../../x", "arrays\\x.npy", "C:x.npy", "C:/x"])
def test_members_that_lead_outside(folder: Path, name: str) -> None:
    refused(edit(folder, lambda members: members.update({name: b"x"})), "points outside")


@pytest.mark.parametrize(
    "name", ["evil.py", "arrays/", "arrays/0000.npz", "arrays/1.npy", "fault/.py", "fault/a/b.py", "Case.json"]
)
def test_unknown_members(folder: Path, name: str) -> None:
    refused(edit(folder, lambda members: members.update({name: b""})), "does not belong")


def test_members_not_in_the_index(folder: Path) -> None:
    refused(edit(folder, lambda members: members.update({"arrays/0099.npy": b"x"})), "not in the index")
    refused(edit(folder, lambda members: members.update({"fault/x.py": b"x"})), "not in the index")


def test_symbolic_link(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        link = zipfile.ZipInfo("arrays/0009.npy")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    refused(file, "'arrays/0009.npy' is a symbolic link")


def test_device(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        device = zipfile.ZipInfo("arrays/0009.npy")
        device.external_attr = (stat.S_IFCHR | 0o777) << 16
        archive.writestr(device, "")
    refused(file, "not a plain file")


def test_duplicate_member(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("case.json", "{}")
    refused(file, "'case.json' is there twice")


def test_missing_members(folder: Path) -> None:
    refused(edit(folder, lambda members: members.pop("case.json")), "a zip without 'case.json'")
    refused(edit(folder, lambda members: members.pop("arrays/0000.npy")), "'arrays/0000.npy' is missing")


def test_other_compression(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("arrays/0009.npy", b"x" * 100, zipfile.ZIP_BZIP2)
    refused(file, "has compression 12")


def test_deflated_is_fine(folder: Path, file: Path) -> None:
    again = edit(folder, lambda members: None, compress=True)
    assert read_case(again).case.digest == read_case(file).case.digest


def test_encrypted(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(content)
    refused(file, "is encrypted")


def test_compression_bomb(folder: Path) -> None:
    bomb = edit(folder, lambda members: members.update({"arrays/0000.npy": bytes(20_000_000)}), compress=True)
    assert bomb.stat().st_size < 100_000
    refused(bomb, "'arrays/0000.npy' unpacks [0-9,]+ bytes to 20,000,000")


def test_bomb_whose_header_lies_about_the_size(folder: Path) -> None:
    bomb = edit(folder, lambda members: members.update({"arrays/0000.npy": bytes(20_000_000)}), compress=True)
    content = bomb.read_bytes().replace(struct.pack("<L", 20_000_000), struct.pack("<L", 100))
    bomb.write_bytes(content)
    refused(bomb, "'arrays/0000.npy' is damaged")


def test_size_larger_than_what_is_there(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        size = archive.getinfo("arrays/0000.npy").file_size
    file.write_bytes(file.read_bytes().replace(struct.pack("<L", size), struct.pack("<L", size + 5000)))
    refused(file, "damaged|instead of")


def test_limits(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(container, "MAX_TOTAL_BYTES", 200)
        refused(file, "unpacks to [0-9,]+ bytes, the limit is 200")
    with monkeypatch.context() as patch:
        patch.setattr("tensorparity.store.casefile.MAX_JSON_BYTES", 50)
        refused(file, "'case.json' unpacks to more than 50 bytes")
    monkeypatch.setattr(container, "MAX_MEMBERS", 3)
    refused(file, "more than 3 members")


def test_too_many_members(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.tpcase", "w") as archive:
        for number in range(container.MAX_MEMBERS + 1):
            archive.writestr(f"arrays/{number:04d}.npy", b"")
    refused(tmp_path / "a.tpcase", "more than 20,000 members")


def test_directory_that_is_all_padding(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        padded = zipfile.ZipInfo("arrays/0009.npy")
        padded.extra = struct.pack("<HH", 0x9999, 60_000) + bytes(60_000)
        archive.writestr(padded, b"")
    refused(file, "a directory of [0-9,]+ bytes for")


def test_zip64(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-22] + b"PK\x06\x07" + bytes(16) + content[-22:])
    refused(file, "more than 20,000 members")


def test_pickled_array(folder: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("a pickle was loaded",))

    evil = npy_bytes(np.array([Evil()], dtype=object), allow_pickle=True)
    refused(
        edit(folder, lambda members: members.update({"arrays/0000.npy": evil})), "pickled Python objects; do not use"
    )


@pytest.mark.parametrize(
    ("evil", "match"),
    [
        (npy_bytes(np.zeros((2, 4))), "the index says float32 of shape .2, 4., the array is float64"),
        (npy_bytes(np.zeros((4, 2), np.float32)), "the array is float32 of .4, 2."),
        (npy_bytes(np.zeros((2, 4), np.float32))[:-1], "does not fit 31 bytes"),
        (npy_bytes(np.zeros((2, 4), np.float32)) + b"x", "does not fit 33 bytes"),
        (npy_bytes(np.zeros(2, "f4,f4")), "the array is"),
        (b"", "header is damaged"),
        (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "header is damaged"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "header is damaged"),
        (b"\x93NUMPY\x09\x00" + bytes(99), "header is damaged"),
    ],
)
def test_arrays_that_are_not_what_the_index_says(folder: Path, evil: bytes, match: str) -> None:
    refused(edit(folder, lambda members: members.update({"arrays/0000.npy": evil})), f"'inputs:x'.*{match}")


def test_array_of_terabytes_is_not_allocated(folder: Path) -> None:
    def change(members: Members) -> None:
        index = json.loads(members["case.json"])
        index["arrays"]["inputs:x"]["shape"] = [10**6, 10**7]
        members["case.json"] = json.dumps(index)
        members["arrays/0000.npy"] = members["arrays/0000.npy"].replace(
            b"(2, 4), }              ", b"(1000000, 10000000), }"
        )

    refused(edit(folder, change), "inputs:x")


def test_fortran_order_of_other_writers_is_read(folder: Path, file: Path) -> None:
    expected = read_case(file).case.inputs["x"]
    again = npy_bytes(np.asfortranarray(expected).astype(">f4"))
    read = read_case(edit(folder, lambda members: members.update({"arrays/0000.npy": again})))
    np.testing.assert_array_equal(read.case.inputs["x"], expected)
    assert read.case.digest == read_case(file).case.digest


@pytest.mark.parametrize(
    ("member", "array", "match"),
    [
        ("arrays/0002.npy", np.array([0, 2, 1]), "do not increase"),
        ("arrays/0002.npy", np.array([1, 2, 3]), "do not increase"),
        ("arrays/0002.npy", np.array([0, 1]), "index says int64"),
        ("arrays/0002.npy", np.array([0, 1, 2**40]), "index says uint8 of shape .1099511627776."),
        ("arrays/0001.npy", np.array([255, 254, 253], np.uint8), "no UTF-8"),
    ],
)
def test_strings_that_lie(folder: Path, member: str, array: Any, match: str) -> None:
    evil = npy_bytes(array)
    refused(edit(folder, lambda members: members.update({member: evil})), f"'labels:words'.*{match}")


@pytest.mark.parametrize(
    "text",
    [b"{", b"NaN", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"a": {"$float": "x"}}', b'{"a": {"$float": []}}', b"1"],
)
def test_json_that_is_none(folder: Path, text: bytes) -> None:
    refused(edit(folder, lambda members: members.update({"case.json": text})), "not strict JSON|describes no case")


@pytest.mark.parametrize("version", [2, 0, "1", None, True, [1], float("nan")])
def test_other_formats(folder: Path, version: Any) -> None:
    refused(edit_index(folder, lambda index: index.update(tensorparity_case=version)), "format .* update tensorparity")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("case", []),
        ("arrays", []),
        ("arrays", {"inputs:x": None}),
        ("arrays", {"inputs:x": {"dtype": "float32", "shape": [-1], "member": "arrays/0000.npy"}}),
        ("arrays", {"inputs:x": {"dtype": "float32", "shape": [1.5], "member": "arrays/0000.npy"}}),
        ("arrays", {"inputs:x": {"dtype": "string", "shape": [1], "member": "arrays/0000.npy"}}),
        ("targets", "torch"),
        ("targets", [1]),
        ("versions", {"a": "b"}),
        ("faults", {"a": 1}),
        ("note", None),
    ],
)
def test_malformed_entries(folder: Path, key: str, value: Any) -> None:
    refused(edit_index(folder, lambda index: index.update({key: value})), f"'{key}' in 'case.json' is missing or")


@pytest.mark.parametrize("member", ["case.json", "model.bin", "../x", "arrays/0001.npy"])
def test_members_an_array_may_not_have(folder: Path, member: str) -> None:
    def change(index: Any) -> None:
        index["arrays"]["inputs:x"]["member"] = member

    refused(edit_index(folder, change), "as a member of its own")


@pytest.mark.parametrize("dtype", ["O", "object", "V9999999", "float128", "datetime64[s]", "x"])
def test_dtypes_nobody_writes(folder: Path, dtype: str) -> None:
    def change(index: Any) -> None:
        index["arrays"]["inputs:x"]["dtype"] = dtype

    refused(edit_index(folder, change), "is not one a case file may hold")


@pytest.mark.parametrize("fault", ["/x.py", "../x", "x.py", "a/b", "", "-x", "fault/../x.py"])
def test_faults_that_are_paths(folder: Path, fault: str) -> None:
    refused(edit_index(folder, lambda index: index.update(faults={"torch": fault})), "neither a name nor a member")


def test_fault_that_is_missing(folder: Path) -> None:
    file = edit_index(folder, lambda index: index.update(faults={"torch": "fault/x.py"}))
    with pytest.raises(CaseFileError, match=r"'fault/x.py' is missing|--trust"):
        read_case(file, trust=True, scratch=folder / "s")


def changed(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(index: Any) -> None:
        place = index["case"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (changed("format", to=2), "case format 2 is not supported"),
        (changed("seed", to=float("inf")), "malformed"),
        (changed("seed", to="one"), "malformed"),
        (changed("subject", to=None), "malformed"),
        (changed("subject", to={"kind": "pickle"}), "unknown subject kind 'pickle'"),
        (changed("subject", "nodes", 1, "inputs", to=[["later", 0]]), "uses 'later' before it exists"),
        (changed("subject", "nodes", 1, "name", to="x"), "two inputs or nodes are named 'x'"),
        (changed("subject", "nodes", 0, "op", to=5), "malformed: op: expected a string. Received: 5"),
        (changed("subject", "nodes", 0, "op", to=["Dense"]), "op: expected a string"),
        (changed("subject", "nodes", 0, "params", to=3), "malformed"),
        (changed("subject", "nodes", 0, "code", to="import os"), "entries this version does not know"),
        (changed("procedure", "goal", to="destroy"), "malformed.*destroy"),
        (changed("procedure", "hook", to="x"), "entries this version does not know"),
        (changed("procedure", "steps", to="many"), "steps: expected a whole number. Received: 'many'"),
        (changed("procedure", "steps", to=0), "steps: expected 1 or more. Received: 0"),
        (changed("procedure", "batch_size", to=True), "batch_size: expected a whole number. Received: True"),
        (changed("procedure", "training", to="yes"), "training: expected true or false. Received: 'yes'"),
        (changed("procedure", "nodes", to="abc"), "nodes: expected a list"),
        (changed("procedure", "nodes", to=[1]), "nodes: expected a string. Received: 1"),
        (changed("procedure", "dtype", to=16), "dtype: expected a string|a name must be a string"),
        (changed("procedure", "loss", to="mse"), "loss: expected an object|malformed"),
        (changed("procedure", to=[]), "expected an object|malformed"),
        (changed("subject", "nodes", 1, "inputs", to=[["x", "0"]]), "a tensor's index: expected a whole number"),
        (changed("subject", "nodes", 1, "inputs", to=["x"]), "a tensor: expected a list. Received: 'x'"),
        (changed("subject", "nodes", 1, "inputs", to=[["x", 0, 1]]), "malformed"),
        (changed("subject", "nodes", 0, "call", to=1.5), "call: expected a whole number"),
        (changed("subject", "inputs", 0, "shape", to="4"), "shape: expected a list"),
        (changed("subject", "inputs", 0, "shape", to=["4"]), "shape: expected a whole number"),
        (changed("subject", "outputs", to={"x": 0}), "outputs: expected a list"),
        (changed("counterpart", to={}), "entries this version does not know|malformed"),
    ],
)
def test_malformed_cases(folder: Path, change: Callable[[Any], None], match: str) -> None:
    refused(edit_index(folder, change), match)


def test_messages_are_short_and_harmless(folder: Path) -> None:
    file = edit_index(folder, changed("procedure", "goal", to="\x1b[2J\r\n" + "x" * 100_000))
    with pytest.raises(CaseFileError) as caught:
        read_case(file)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


def test_unknown_array_group(folder: Path) -> None:
    def change(index: Any) -> None:
        index["arrays"]["secrets:x"] = index["arrays"].pop("inputs:x")

    refused(edit_index(folder, change), "unknown array group in 'secrets:x'")
