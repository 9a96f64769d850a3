"""Models of strangers through the command line: refused in one line before anything is loaded, or shown harmlessly.

External data outside of the model's folder is in ``test_onnx_files.py``; Keras files that name code, and damaged
files, are in ``cli/test_bad_input.py``.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EVIL_NAME = "</script><img src=x onerror=alert(1)>\"'&[red]"


class Evil:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch executed",)


class _Tags(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.torch
def test_a_pickle_in_a_torch_program(tensorparity: Any, torch_programs: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps(Evil(), protocol=2))
        archive.writestr("model/version", "3\n")
    path = tmp_path / "program.pt2"
    with zipfile.ZipFile(torch_programs / "convolutions.pt2") as honest, zipfile.ZipFile(path, "w") as target:
        for name in honest.namelist():
            hostile = name.endswith("data/sample_inputs/model.pt")
            target.writestr(name, buffer.getvalue() if hostile else honest.read(name))
    ended = tensorparity("compare", path)
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.complaints
    assert "system" in line
    assert "refused without --trust" in line
    assert not (tensorparity.folder / "executed").exists()


@pytest.mark.onnxruntime
def test_names_that_are_markup(tensorparity: Any, valid: Any, tmp_path: Path) -> None:
    """Keras takes no slash in a layer's name; in an ONNX file everything may be called anything."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("openvino")
    helper = onnx.helper
    matrix = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", EVIL_NAME + "w"], [EVIL_NAME + "h"], name=EVIL_NAME),
        helper.make_node("Softmax", [EVIL_NAME + "h"], [EVIL_NAME + "y"], name=EVIL_NAME + "2", doc_string=EVIL_NAME),
    ]
    graph = helper.make_graph(
        nodes,
        EVIL_NAME,
        [helper.make_tensor_value_info("x", 1, ("batch", 4))],
        [helper.make_tensor_value_info(EVIL_NAME + "y", 1, ("batch", 3))],
        [onnx.numpy_helper.from_array(matrix, EVIL_NAME + "w")],
    )
    path = tmp_path / "names.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    out = tmp_path / "out"
    ran = tensorparity(
        "compare", path, "--targets", "onnxruntime,openvino", "--localize", "always", "--out", out, "--format", "json"
    )
    assert ran.code == 0, ran.stderr
    assert valid(ran.document)["comparisons"][0]["layers"][0]["name"] == EVIL_NAME
    page = (out / "report.html").read_text()
    assert page.count("</script>") == 2, "the document's and the page's own"
    seen = _Tags(page)
    assert "img" not in seen.tags
    assert not any(name.startswith("on") for name in seen.attributes)
