"""The plugin of pytest: its options and marker without a library, a difference found on real ones."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

#: An installation brings the plugin along; a bare source tree has to name it, and both at once is refused.
INSTALLED = "tensorparity" in entry_points(group="pytest11").names
PLUGIN = ("-p", "no:cacheprovider", *(() if INSTALLED else ("-p", "tensorparity.pytest_plugin")))

#: Says what it was asked, instead of comparing anything.
RECORDING = """
    import sys

    import pytest
    import tensorparity.api

    api = sys.modules["tensorparity.api"]  # not the one that an earlier run has left at the package
    asked = []

    @pytest.fixture(autouse=True)
    def recorded(monkeypatch):
        monkeypatch.setattr(api, "compare", lambda model, data=None, **given: asked.append(given) or 1 / 0)

    def asks(check):
        with pytest.raises(ZeroDivisionError):
            check.compare("model.onnx")
        return asked[-1]
"""

WRONG_RUNTIME = """
import onnxruntime

run = onnxruntime.InferenceSession.run
onnxruntime.InferenceSession.run = lambda self, *given: [value + 1 for value in run(self, *given)]
"""

REAL = """
    import pytest
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = torch.nn.Linear(4, 3)

        def forward(self, x):
            return torch.tanh(self.dense(x))

    @pytest.fixture
    def net():
        torch.manual_seed(0)
        return Net()

    def test_the_same(tensorparity, net):
        result = tensorparity(net, torch.randn(8, 4))
        assert result.same
        assert net.training  # as it was before

    @pytest.mark.tensorparity(instances=4, faults=["onnxruntime=fault.py"])
    def test_another(tensorparity):
        tensorparity("model.onnx", targets="onnxruntime,openvino,onnx:reference")
"""


def test_options_and_markers_become_arguments(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        RECORDING
        + """
    def test_plain(tensorparity):
        assert asks(tensorparity) == {"reduce": False, "targets": "a,b", "seed": 3}

    @pytest.mark.tensorparity(targets=["c", "d"], instances=2)
    def test_marked(tensorparity):
        assert asks(tensorparity) == {"reduce": False, "targets": ["c", "d"], "seed": 3, "instances": 2}
    """
    )
    pytester.makeini("[pytest]\ntensorparity_targets = from,ini\naddopts = --strict-markers")
    pytester.runpytest(*PLUGIN, "--tensorparity-targets=a,b", "--tensorparity-seed=3").assert_outcomes(passed=2)


def test_the_ini_file_is_the_default(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        RECORDING + "\n    def test_it(tensorparity):\n        assert asks(tensorparity)['targets'] == 'x,y'\n"
    )
    pytester.makeini("[pytest]\ntensorparity_targets = x,y")
    pytester.runpytest(*PLUGIN).assert_outcomes(passed=1)


def test_a_marker_takes_names_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n@pytest.mark.tensorparity('torch:eager')\ndef test_it(tensorparity):\n    pass\n"
    )
    result = pytester.runpytest(*PLUGIN)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes named arguments only*"])


def test_comparisons_can_be_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(tensorparity):\n    assert False\n\ndef test_other():\n    pass\n")
    pytester.runpytest(*PLUGIN, "--tensorparity-skip").assert_outcomes(skipped=1, passed=1)


def test_what_to_make_of_undecided_is_one_of_two(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(tensorparity):\n    tensorparity('m.onnx', undecided='maybe')\n")
    result = pytester.runpytest(*PLUGIN)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*expected 'fail' or 'pass'*"])


@pytest.mark.torch
@pytest.mark.onnxruntime
def test_a_wrong_layer_is_named_in_the_failure(pytester: pytest.Pytester) -> None:
    for needed in ("onnxscript", "openvino"):
        pytest.importorskip(needed)
    pytester.makepyfile(REAL)
    pytester.makefile(".py", fault=WRONG_RUNTIME)
    write_model(Path(pytester.path) / "model.onnx")
    result = pytester.runpytest_subprocess(
        *PLUGIN, "--tensorparity-targets=torch:eager,onnxruntime", "--tensorparity-report=pages", timeout=500
    )
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "onnxruntime differs" in text
    assert "activation (" in text  # the layer
    assert "Traceback" not in text
    assert 'onnx:reference")' not in text  # the answer, not the line that asked
    pages = sorted(path.name for path in (Path(pytester.path) / "pages").iterdir())
    assert pages == ["test_another-0.html", "test_the_same-0.html"]


def write_model(path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    values = [helper.make_tensor_value_info(name, 1, ["n", 3]) for name in ("x", "y")]
    node = helper.make_node("Relu", ["x"], ["y"], name="activation")
    graph = helper.make_graph([node], "graph", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
