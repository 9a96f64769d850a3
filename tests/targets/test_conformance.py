"""Our own adapters pass the suite that we ship for others'."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import numpy as np
import pytest

from tensorparity.targets.runner import LocalRunner, RunnerSettings
from tensorparity.testing.adapter_conformance import AdapterConformance, KnownCall
from tensorparity.testing.external import MISBEHAVING, external_runner


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


KERAS_ADD = KnownCall("keras.ops.add", np.add)


@pytest.mark.tensorflow
@needs("keras", "tensorflow")
class TestKerasOnTensorFlow(AdapterConformance):
    target = "keras:tensorflow"
    known_call = KERAS_ADD


@pytest.mark.jax
@needs("keras", "jax")
class TestKerasOnJax(AdapterConformance):
    target = "keras:jax"
    known_call = KERAS_ADD


@pytest.mark.torch
@needs("keras", "torch")
class TestKerasOnTorch(AdapterConformance):
    target = "keras:torch"
    known_call = KERAS_ADD


@pytest.mark.onnxruntime
@needs("onnxruntime")
class TestOnnxRuntime(AdapterConformance):
    target = "onnxruntime"


@pytest.mark.torch
@needs("torch")
class TestTorchEager(AdapterConformance):
    target = "torch:eager"
    known_call = KnownCall("torch.fmod", np.fmod)


@pytest.mark.tensorflow
@needs("tensorflow")
class TestTensorFlowEager(AdapterConformance):
    target = "tensorflow:eager"
    known_call = KnownCall("tensorflow.math.add", np.add)


@pytest.mark.tensorflow
@needs("tensorflow")
class TestTensorFlowXla(AdapterConformance):
    target = "tensorflow:xla"
    known_call = KnownCall("tensorflow.math.add", np.add)


@pytest.mark.jax
@needs("jax")
class TestJaxEager(AdapterConformance):
    target = "jax:eager"
    known_call = KnownCall("jax.numpy.add", np.add)


@pytest.mark.jax
@needs("jax")
class TestJaxJit(AdapterConformance):
    target = "jax:jit"
    known_call = KnownCall("jax.numpy.add", np.add)


@pytest.mark.slow
@pytest.mark.torch
@needs("torch")
class TestTorchCompile(AdapterConformance):
    """Compiles every graph it is given; exported programs are in test_torch_programs.py."""

    target = "torch:compile"


class TestExternalAdapter(AdapterConformance):
    """A third party's adapter file that claims next to nothing: the suite asks for honesty, not for breadth."""

    target = "misbehaving"

    @pytest.fixture(scope="class")
    @classmethod
    def runner(cls) -> Iterator[LocalRunner]:
        with external_runner(MISBEHAVING, [cls.target], RunnerSettings(workers=1)) as runner:
            yield runner
