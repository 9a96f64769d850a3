"""What is never called, by name, by argument and by documentation."""

from __future__ import annotations

import pytest

from tensorparity.worker.apis import denied
from tensorparity.worker.apis.denied import leads_out, reason, words_of


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tensorflow.raw_ops.ReadFile", "touches files"),
        ("tensorflow.raw_ops.Abort", "touches the network or other processes"),
        ("tensorflow.raw_ops.ImmutableConst", "touches files"),
        ("torch.from_file", "touches files"),
        ("torch.Tensor.cuda", "touches devices"),
        ("torch.set_default_dtype", "changes or reads the library's settings"),
        ("jax.numpy.fromfunction", "runs code"),
        ("tensorflow.py_function", "runs code"),
        ("torch.randn", "random"),
        ("keras.utils.get_file", "touches files"),
        ("tensorflow.raw_ops.EagerPyFunc", "runs code"),
        ("torch.utils.dlpack.toDLPack", "touches devices"),
        ("tensorflow.raw_ops.FIFOQueueV2", "has a state or a handle"),
    ],
)
def test_names(name: str, why: str) -> None:
    assert reason(name, "", [{"name": "x"}]) in (why, "changes or reads the library's settings")


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("filename", "takes a path"),
        ("url", "takes an address"),
        ("device", "takes a device"),
        ("fn", "takes code"),
        ("resource", "takes a handle or a resource"),
    ],
)
def test_arguments_that_must_be_given(argument: str, why: str) -> None:
    assert reason("some.thing", "", [{"name": "x"}, {"name": argument}]) == why
    assert reason("some.thing", "", [{"name": "x"}, {"name": argument, "default": None}]) == ""


def test_an_array_that_is_called_f_is_no_code() -> None:
    assert reason("some.gradient", "", [{"name": "f", "type": "ArrayLike"}]) == ""
    assert reason("some.gradient", "", [{"name": "f", "type": "Callable"}]) == "takes code"


def test_deprecated_and_harmless() -> None:
    assert reason("some.thing", "Old. Deprecated since 2.0.", []) == "deprecated"
    assert reason("torch.linalg.cond", "", [{"name": "A"}]) == ""
    assert reason("torch.special.xlog1py", "", [{"name": "x"}]) == ""
    assert reason("torch.nn.functional.poisson_nll_loss", "", [{"name": "input"}]) == ""


@pytest.mark.parametrize(
    "name",
    [
        "keras.losses.Poisson",
        "keras.losses.poisson",
        "keras.metrics.Poisson",
        "keras.activations.exponential",
        "keras.utils.to_categorical",
        "tensorflow.nn.log_poisson_loss",
        "tensorflow.math.invert_permutation",
        "tensorflow.raw_ops.InvertPermutation",
        "tensorflow.raw_ops.MatrixSetDiag",
        "tensorflow.raw_ops.RandomGammaGrad",
        "torch.signal.windows.exponential",
        "jax.lax.linalg.lu_pivots_to_permutation",
        "jax.lax.random_gamma_grad",
    ],
)
def test_what_speaks_of_a_distribution_or_an_order_draws_nothing_without_a_seed(name: str) -> None:
    assert reason(name, "", [{"name": "x"}]) == ""


@pytest.mark.parametrize("seed", ["seed", "key", "generator"])
@pytest.mark.parametrize("name", ["some.poisson", "some.exponential_", "some.permutation", "some.uniform"])
def test_what_is_given_a_seed_draws(name: str, seed: str) -> None:
    assert reason(name, "", [{"name": "x"}, {"name": seed, "default": None}]) == "random"


def test_generators_of_bits_are_random_whatever_they_are_given() -> None:
    assert reason("jax.lax.rng_uniform", "", [{"name": "a"}]) == "random"
    assert reason("tensorflow.raw_ops.RandomPoissonV2", "", [{"name": "shape"}]) == "random"


def test_what_a_file_may_call_of_modules_that_lead_out() -> None:
    assert leads_out("keras.utils.pad_sequences") == leads_out("keras.ops.image.map_coordinates") == ""
    assert leads_out("keras.utils.get_file")


def test_words() -> None:
    assert words_of("tf.raw_ops.ReadFile") == ["read", "file"]
    assert words_of("torch.from_file") == ["from", "file"]
    assert words_of("torch.toDLPack") == ["to", "dl", "pack", "dlpack"]
    assert words_of("jax.numpy.expand2d") == ["expand", "d", "expand2d"]


def test_one_table() -> None:
    """A word is denied anywhere, or in a function's own name alone."""
    assert not set(denied._BY_WORD) & set(denied._BY_OWN_WORD)
    assert reason("torch.scan.sum", "", []) == leads_out("torch.scan.sum") == ""
    assert reason("torch.scan", "", []) == "runs code"
    assert leads_out("torch.hub.sum") == "touches files"
