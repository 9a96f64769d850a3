"""How long 20,000 inputs take per operator, all four dtypes, beside the bare library calls on the same numbers.

Ours is Algorithm 1 as ``precision --measure paper --mode op_mode --strategy linf`` runs it: seeds, mutation, rounding
to each dtype, transport, the calls, errors of every input. Bare is a plain script that makes the same calls on the
same shapes in the same batches, with one thread, and keeps nothing. Shape [1, 28, 28, 3], as in the paper.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace

import psutil
from measuring import cpu_of, spending

from tensorparity.campaign.engine_search import result_of
from tensorparity.core.operator_errors import PaperRun
from tensorparity.core.oracle import Setup
from tensorparity.engines.predoo.paper import PaperSearching, PaperTask, instance_settings
from tensorparity.operators.functions.catalogue import OPERATORS, SEVEN
from tensorparity.operators.functions.spec import DTYPES
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner

_TARGET = "tensorflow:eager"
_BATCH = 445

_BARE = """
import sys, time
import numpy as np
import tensorflow as tf
name, inputs, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
calls = {
    "conv2d": lambda x: tf.nn.conv2d(x, tf.ones((3, 3, 3, 8), x.dtype), 1, "VALID"),
    "norm": lambda x: tf.nn.batch_normalization(x, *(tf.ones((3,), x.dtype) for _ in range(4)), 1e-3),
    "pooling": lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    "relu": tf.nn.relu, "sigmoid": tf.math.sigmoid, "softmax": tf.nn.softmax, "tanh": tf.math.tanh,
}
x = np.random.default_rng(0).standard_normal((batch, 28, 28, 3))
tensors = [tf.cast(x, dtype) for dtype in ("float16", "bfloat16", "float32", "float64")]
for tensor in tensors:
    calls[name](tensor)
began = time.process_time()
for _ in range(-(-inputs // batch)):
    for tensor in tensors:
        calls[name](tensor).numpy()
print(time.process_time() - began)
"""


def bare_seconds(name: str, inputs: int) -> float:
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _BARE, name, str(inputs), str(_BATCH)]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return float(ended.stdout.split()[-1])


def workers() -> float:
    return sum(cpu_of(child) for child in psutil.Process().children(recursive=True))


def run_paper(runner: LocalRunner, task: PaperTask) -> PaperRun:
    """One run to its end; nothing is confirmed or filed."""
    began = time.monotonic()
    setup = Setup(task.seed, (task.target,), traits_of(runner.targets))
    examiner = Examiner(runner, setup, settings=instance_settings(task.dtypes))
    searching = PaperSearching([task], setup.traits)
    while asks := searching.ask():
        searching.tell([result_of(index, examined) for index, examined in enumerate(examiner.examine(asks))])
    return replace(searching.searched[0].run, seconds=time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--op", action="append")
    options = parser.parse_args()
    print(f"{'operator':10} {'wall s':>8} {'CPU s':>8} {'bare CPU s':>10} {'ratio':>6} {'largest error':>14}")
    with open_runner([_TARGET], RunnerSettings()) as runner:
        run_paper(runner, PaperTask(OPERATORS.get("relu"), _TARGET, "linf", "op_mode", DTYPES, inputs=500))  # imports
        for name in options.op or SEVEN:
            task = PaperTask(OPERATORS.get(name), _TARGET, "linf", "op_mode", DTYPES, inputs=options.inputs)
            with spending(workers) as spent:
                run = run_paper(runner, task)
            bare = bare_seconds(name, options.inputs)
            shown = f"{run.seconds:8.1f} {spent.cpu:8.1f} {bare:10.1f} {spent.cpu / bare:6.1f} {run.largest:14.3g}"
            print(f"{name:10} {shown}", flush=True)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
