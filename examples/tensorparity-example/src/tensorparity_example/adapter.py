"""The adapter of ``tiny``: runs in a worker process, with NumPy alone, on every Python from 3.6 on."""

import numpy as np
from tensorparity_worker.contract import Adapter, Result, Unsupported


def make_adapter(flavour, options):
    """Return the adapter; what a worker calls first."""
    return Tiny(flavour, options)


class Tiny(Adapter):
    """Runs graphs of the layers in ``LAYERS``, and nothing else."""

    ABILITIES = frozenset(["forward", "replay", "layer-graph", "trace"])

    def start(self):
        """There is nothing to import."""

    def run(self, job):
        graph = job.subject
        if graph["kind"] != "layer-graph" or job.goal not in ("forward", "replay"):
            raise Unsupported("tiny runs graphs forward")
        result = Result()
        if job.goal == "replay":
            self._replay(graph, job, result)
            return result
        values = {(name, 0): array for name, array in job.inputs.items()}
        for node in graph["nodes"]:
            self.current_node = _key(node)
            values[node["name"], 0] = _compute(node, [values[ref] for ref in _inputs(node)], job.weights)
            if job.option("trace"):
                result.nodes[_key(node)] = values[node["name"], 0]
        for name, index in [tuple(ref) for ref in graph["outputs"]]:
            result.outputs[name if index == 0 else f"{name}.{index}"] = values[name, index]
        return result

    def _replay(self, graph, job, result):
        for node in graph["nodes"]:
            key = _key(node)
            if key in job.option("nodes", []):
                given = [job.inputs[f"{key}/{place}"] for place in range(len(node["inputs"]))]
                result.nodes[key] = _compute(node, given, job.weights)


def _key(node):
    return "{}#{}".format(node["layer"], node["call"])


def _inputs(node):
    return [tuple(ref) for ref in node["inputs"]]


def _compute(node, given, weights):
    if node["op"] not in LAYERS:
        raise Unsupported("tiny has no layer {}".format(node["op"]))
    return LAYERS[node["op"]](node, given[0], weights)


def _dense(node, x, weights):
    name = node["layer"]
    y = np.matmul(x, weights[name + "/kernel"])
    return y + weights[name + "/bias"] if name + "/bias" in weights else y


def _relu(node, x, weights):
    """A ReLU with a defect: a number above 4 comes out with its sign changed."""
    y = np.maximum(x, 0)
    return np.where(y > 4, -y, y).astype(x.dtype)


def _flatten(node, x, weights):
    return x.reshape(len(x), -1)


def _halve(node, x, weights):
    """Half of each number, with a defect: below -4 it is rounded up to a whole number."""
    y = x / 2
    return np.where(x < -4, np.ceil(y), y).astype(x.dtype)


LAYERS = {"Dense": _dense, "ReLU": _relu, "Flatten": _flatten, "TinyHalve": _halve}
