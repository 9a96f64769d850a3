"""Exported torch programs are looked into before torch gets them; hostile ones are made for real."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorparity.core.errors import ModelRefusedError
from tensorparity.generators.model_files.pickles import PickleError, foreign_globals
from tensorparity.generators.model_files.torch_containers import write_plain_copy
from tensorparity.generators.model_files.torch_expressions import is_guard, is_operator, is_size
from tensorparity.generators.model_files.torch_files import WHOLE_SETS, inspect_torch_file

pytestmark = pytest.mark.torch

PROGRAM = "models/model.json"
SAMPLES = "data/sample_inputs/model.pt"
WEIGHTS = "data/weights/model_weights_config.json"
Rewrite = Callable[..., Path]


class Evil:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch executed",)


def saved(value: object, protocol: int = 2) -> bytes:
    """What torch.save writes around a pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(value, protocol=protocol))
        archive.writestr("model/version", "3\n")
    return buffer.getvalue()


@pytest.fixture
def rewrite(torch_programs: Path, tmp_path: Path) -> Rewrite:
    """A copy of an honest program with some members replaced, added, or (None) taken away."""

    def write(changes: Mapping[str, bytes | None], program: str = "convolutions") -> Path:
        path = tmp_path / f"{program}.pt2"
        with zipfile.ZipFile(torch_programs / f"{program}.pt2") as source, zipfile.ZipFile(path, "w") as target:
            root = source.namelist()[0].partition("/")[0]
            members = {name.partition("/")[2]: source.read(name) for name in source.namelist()}
            for name, data in {**members, **changes}.items():
                if data is not None:
                    target.writestr(name if name.startswith("!") else f"{root}/{name}", data)
        return path

    return write


@pytest.fixture
def edit(torch_programs: Path, rewrite: Rewrite) -> Callable[[Callable[[Any], None]], Path]:
    """A copy of an honest program whose JSON was changed."""

    def write(change: Callable[[Any], None], member: str = PROGRAM) -> Path:
        with zipfile.ZipFile(torch_programs / "convolutions.pt2") as source:
            name = next(name for name in source.namelist() if name.endswith(member))
            document = json.loads(source.read(name))
        change(document)
        return rewrite({member: json.dumps(document).encode()})

    return write


def refusal(path: Path) -> str:
    with pytest.raises(ModelRefusedError) as caught:
        inspect_torch_file(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


# Honest programs


def test_the_signature_is_read_without_torch(torch_programs: Path) -> None:
    several = inspect_torch_file(torch_programs / "several.pt2")
    assert [(spec.name, spec.shape, spec.dtype) for spec in several.inputs] == [
        ("tokens", (4,), "int64"),
        ("scale", (6,), "float32"),
    ]
    assert several.batch is None
    assert several.foreign == ()
    assert several.model.format == "torch"
    assert several.draws["tokens"].high == 10


def test_a_fixed_batch_is_told(torch_programs: Path) -> None:
    whole = inspect_torch_file(torch_programs / "whole.pt2")
    assert (whole.batch, whole.inputs[0].shape) == (2, (2, 3))


def test_without_a_batch_axis_an_instance_is_a_whole_set_of_inputs(torch_programs: Path) -> None:
    scalar = inspect_torch_file(torch_programs / "scalar.pt2")
    assert scalar.batch is None
    assert [spec.shape for spec in scalar.inputs if spec.name == "rate"] == [()]
    assert scalar.notes == (WHOLE_SETS,)


def test_classes_around_the_outputs_are_made_plain(
    edit: Callable[[Callable[[Any], None]], Path], tmp_path: Path
) -> None:
    def with_dataclass(document: Any) -> None:
        for entry in document["graph_module"]["module_call_graph"]:
            if entry["signature"]:
                leaf = {"type": None, "context": None, "children_spec": []}
                tree = {"type": "some.package.Answer", "context": '["scores"]', "children_spec": [leaf]}
                entry["signature"]["out_spec"] = json.dumps([1, tree])

    path = edit(with_dataclass)
    inspected = inspect_torch_file(path)
    assert inspected.foreign == ()  # nobody loads the file as it is
    assert inspected.containers == ("some.package.Answer",)
    copy = write_plain_copy(path, tmp_path)
    assert inspect_torch_file(copy).containers == ()
    with zipfile.ZipFile(copy) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(PROGRAM))
    assert b"some.package" not in text
    assert b'"builtins.dict\\", \\"context\\": \\"[' in text.replace(b"\\\\", b"\\")  # by the names of its fields
    assert write_plain_copy(path, tmp_path / "again").read_bytes() == copy.read_bytes()


@pytest.mark.parametrize("name", ["convolutions", "several", "writing", "whole", "other_weights"])
def test_what_torch_writes_is_not_suspicious(torch_programs: Path, name: str) -> None:
    assert inspect_torch_file(torch_programs / f"{name}.pt2").foreign == ()


# Pickles


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_runs_code_is_refused_by_name(
    rewrite: Rewrite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    path = rewrite({SAMPLES: saved(Evil(), protocol)})
    assert refusal(path).endswith(
        f"holds the global {os.system.__module__}.system in {SAMPLES}, which could run code; refused without --trust"
    )
    assert not (tmp_path / "executed").exists()
    assert inspect_torch_file(path, trust=True).foreign


def test_a_bare_pickle_is_looked_into_too(rewrite: Rewrite) -> None:
    assert f"{os.system.__module__}.system" in refusal(rewrite({SAMPLES: pickle.dumps(Evil())}))


def test_old_weights_and_constants_are_looked_into(rewrite: Rewrite) -> None:
    for member in ("data/weights/model.pt", "data/constants/model.pt"):
        assert f"system in {member}" in refusal(rewrite({member: saved(Evil())}))


def test_weights_that_are_pickles_are_looked_into(
    edit: Callable[..., Path], torch_programs: Path, tmp_path: Path
) -> None:
    def pickled(config: Any) -> None:
        next(iter(config["config"].values()))["use_pickle"] = True

    assert "data/weights/weight_0, which is no pickle of tensors" in refusal(edit(pickled, WEIGHTS))


def test_objects_of_other_classes_are_looked_into(edit: Callable[..., Path]) -> None:
    def opaque(config: Any) -> None:
        config["config"]["thing"] = {"path_name": "opaque_obj_0", "use_pickle": True}

    assert "lacks data/constants/opaque_obj_0" in refusal(edit(opaque, "data/constants/model_constants_config.json"))


def test_torchscript_inside_is_refused(rewrite: Rewrite) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(1))
        archive.writestr("model/constants.pkl", pickle.dumps(1))
    assert "it is TorchScript" in refusal(rewrite({SAMPLES: buffer.getvalue()}))


def test_a_global_whose_name_is_computed_is_foreign() -> None:
    hidden = b"\x80\x04\x8c\x02os\x8c\x06system\x8c\x0bcollections\x8c\x0bOrderedDict00\x93."
    assert foreign_globals(hidden) == ("(computed)",)


def test_a_second_pickle_behind_the_first_is_noticed() -> None:
    with pytest.raises(PickleError):
        foreign_globals(pickle.dumps(1) + pickle.dumps(Evil()))


# Code as text


@pytest.mark.parametrize(
    "target",
    ["torch.serialization.os.system", "torch.ops.load_library", "torch.ops.aten.from_file.default", "_operator.call"]
    + ["torch.ops.aten.add.__class__", "torch.hub.load", "math.__loader__.load_module", "builtins.eval", 3],
)
def test_only_operators_that_compute_are_let_in(edit: Callable[..., Path], target: Any) -> None:
    assert not is_operator(target)

    def call(document: Any) -> None:
        document["graph_module"]["graph"]["nodes"][0]["target"] = target

    assert f"holds the operator {target!r}" in refusal(edit(call))


@pytest.mark.parametrize(
    "size",
    ["__import__('os').system('x')", "Symbol('a', positive=True).__class__", "Max('__import__(1)', 1)", "[].append(1)"]
    + ["(lambda: 1)()", "Symbol('a b')", "1 if 2 else 3", "x" * 200_000, None],
)
def test_sizes_are_arithmetic(edit: Callable[..., Path], size: Any) -> None:
    assert not is_size(size)

    def plant(document: Any) -> None:
        sizes = document["graph_module"]["graph"]["tensor_values"]["image"]["sizes"]
        sizes[0] = {"as_expr": {"expr_str": size, "hint": None}}

    assert "holds the expression" in refusal(edit(plant))


def test_sizes_as_torch_writes_them() -> None:
    assert is_size("Symbol('s17', positive=True, integer=True)")
    assert is_size("Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-1))")
    assert is_size("FloorDiv(s0 + 1, 2)")


@pytest.mark.parametrize(
    "guard",
    ["__import__('os').system('x')", "L['x'].__class__", "print(1)", "L['x\") or f(\"']", "True\nimport os", 7],
)
def test_guards_compare_sizes(edit: Callable[..., Path], guard: Any) -> None:
    assert not is_guard(guard)
    assert "holds the guard" in refusal(edit(lambda document: document["guards_code"].append(guard)))


def test_guards_as_torch_writes_them() -> None:
    assert is_guard("L['y'].size()[0] == L['x'].size()[0]")
    assert is_guard("2 <= L['x'].size()[0] and L['x'].size()[0] <= 1024")


def test_names_are_names(edit: Callable[..., Path]) -> None:
    def inject(document: Any) -> None:
        document["graph_module"]["graph"]["nodes"][0]["name"] = "x = 1; import os; y"

    assert "holds the name 'x = 1; import os; y'" in refusal(edit(inject))


@pytest.mark.parametrize("kind", ["collections.defaultdict", "some.module.Class"])
def test_structures_are_plain_containers(edit: Callable[..., Path], kind: str) -> None:
    spec = json.dumps([1, {"type": kind, "context": "{}", "children_spec": []}])

    def plant(document: Any) -> None:
        document["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = spec

    path = edit(plant)
    assert inspect_torch_file(path).containers == (kind,)  # loaded as a copy without it, or not at all


def test_structures_that_are_none_are_refused(edit: Callable[..., Path]) -> None:
    def plant(document: Any) -> None:
        document["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = '[1, {"type": "builtins.list"}]'

    assert "holds the structure" in refusal(edit(plant))


# The archive


def test_compiled_code_is_refused(rewrite: Rewrite) -> None:
    path = rewrite({"data/aotinductor/model/model.so": b"\x7fELF"})
    assert "compiled code (data/aotinductor/model/model.so)" in refusal(path)


def test_members_outside_the_folder_are_refused(rewrite: Rewrite) -> None:
    assert "a member outside its folder" in refusal(rewrite({"../../escape": b""}))


def test_two_members_of_one_name_are_refused(rewrite: Rewrite) -> None:
    assert "two members of one name" in refusal(rewrite({"models/MODEL.json": b"{}"}))


def test_a_second_folder_is_refused(rewrite: Rewrite) -> None:
    assert "no exported torch program" in refusal(rewrite({"!other/data.pkl": b""}))


def test_what_is_no_program_is_refused(tmp_path: Path, torch_programs: Path, rewrite: Rewrite) -> None:
    honest = (torch_programs / "convolutions.pt2").read_bytes()
    path = tmp_path / "bad.pt2"
    assert "no model at" in refusal(path)
    for data in (b"", b"\x80\x04.", honest[: len(honest) // 2]):
        path.write_bytes(data)
        assert "not a .pt2 program, or is truncated" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    assert f"lacks {PROGRAM}" in refusal(path)
    assert "not JSON" in refusal(rewrite({PROGRAM: b"{"}))
    assert "no program of torch.export's" in refusal(rewrite({PROGRAM: b'{"graph_module": {}}'}))


def test_damage_is_noticed(torch_programs: Path, tmp_path: Path) -> None:
    data = bytearray((torch_programs / "convolutions.pt2").read_bytes())
    position = data.index(b'"graph_module"')
    data[position] ^= 0xFF
    path = tmp_path / "damaged.pt2"
    path.write_bytes(bytes(data))
    assert "damaged" in refusal(path)


def test_the_old_layout_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "old.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("version", "8.8")
        archive.writestr("serialized_exported_program.json", "{}")
    assert "save it again" in refusal(path)
