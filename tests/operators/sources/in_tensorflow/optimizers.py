"""Optimizers as TensorFlow's own kernels, which its first optimizers were made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .registry import Params

Step = Callable[[Params, Any, dict[str, Any], Any, int], None]


def _number(value: float) -> Any:
    return tf.constant(value, tf.float64)


def _numbers(p: Params, *names: str) -> dict[str, Any]:
    """Parameters under the kernels' names for them."""
    words = {"learning_rate": "lr", "beta_1": "beta1", "beta_2": "beta2"}
    return {words.get(name, name): _number(p[name]) for name in names}


def _sgd(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    tf.raw_ops.ResourceApplyKerasMomentum(
        var=var.handle,
        accum=slots["a"].handle,
        grad=grad,
        use_nesterov=p["nesterov"] and p["momentum"] > 0,
        **_numbers(p, "learning_rate", "momentum"),
    )


def _adam(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    given = _numbers(p, "learning_rate", "beta_1", "beta_2", "epsilon")
    powers = {"beta1_power": _number(p["beta_1"] ** number), "beta2_power": _number(p["beta_2"] ** number)}
    handles = {"var": var.handle, "m": slots["a"].handle, "v": slots["b"].handle}
    if p["amsgrad"]:
        tf.raw_ops.ResourceApplyAdamWithAmsgrad(**handles, vhat=slots["c"].handle, grad=grad, **powers, **given)
    else:
        tf.raw_ops.ResourceApplyAdam(**handles, grad=grad, **powers, **given)


def _adamw(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    var.assign(var * (1.0 - p["learning_rate"] * p["weight_decay"]))
    _adam(p, var, slots, grad, number)


def _adagrad(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    """Keras' epsilon is under the root: part of what is accumulated from the start."""
    if number == 1:
        slots["a"].assign(tf.fill(var.shape, _number(p["initial_accumulator_value"] + p["epsilon"])))
    tf.raw_ops.ResourceApplyAdagrad(var=var.handle, accum=slots["a"].handle, grad=grad, **_numbers(p, "learning_rate"))


def _adadelta(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    tf.raw_ops.ResourceApplyAdadelta(
        var=var.handle,
        accum=slots["a"].handle,
        accum_update=slots["b"].handle,
        grad=grad,
        **_numbers(p, "learning_rate", "rho", "epsilon"),
    )


def _rmsprop(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    given = _numbers(p, "learning_rate", "rho", "momentum", "epsilon")
    handles = {"var": var.handle, "ms": slots["a"].handle, "mom": slots["b"].handle}
    if p["centered"]:
        tf.raw_ops.ResourceApplyCenteredRMSProp(**handles, mg=slots["c"].handle, grad=grad, **given)
    else:
        tf.raw_ops.ResourceApplyRMSProp(**handles, grad=grad, **given)


def _adamax(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    tf.raw_ops.ResourceApplyAdaMax(
        var=var.handle,
        m=slots["a"].handle,
        v=slots["b"].handle,
        grad=grad,
        beta1_power=_number(p["beta_1"] ** number),
        **_numbers(p, "learning_rate", "beta_1", "beta_2", "epsilon"),
    )


def _ftrl(p: Params, var: Any, slots: dict[str, Any], grad: Any, number: int) -> None:
    if number == 1:
        slots["a"].assign(tf.fill(var.shape, _number(p["initial_accumulator_value"])))
    tf.raw_ops.ResourceApplyFtrlV2(
        var=var.handle,
        accum=slots["a"].handle,
        linear=slots["b"].handle,
        grad=grad,
        lr=_number(p["learning_rate"]),
        l1=_number(p["l1_regularization_strength"]),
        l2=_number(p["l2_regularization_strength"] + p["beta"] / (2 * p["learning_rate"])),
        l2_shrinkage=_number(p["l2_shrinkage_regularization_strength"]),
        lr_power=_number(p["learning_rate_power"]),
    )


OPTIMIZERS: dict[str, Step] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adamw,
    "Adagrad": _adagrad,
    "Adadelta": _adadelta,
    "RMSprop": _rmsprop,
    "Adamax": _adamax,
    "Ftrl": _ftrl,
}


def steps(name: str, p: Params, weight: Any, gradients: Any) -> list[Any]:
    """The weight after each step; slots are zeros before the first."""
    var = tf.Variable(weight, dtype=tf.float64)
    slots = {slot: tf.Variable(tf.zeros_like(var)) for slot in "abc"}
    found = []
    for number, gradient in enumerate(gradients, start=1):
        OPTIMIZERS[name](p, var, slots, tf.constant(gradient, tf.float64), number)
        found.append(var.numpy())
    return found
