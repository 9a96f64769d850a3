"""NNSmith's own fuzzing loop, counted: run by ``nnsmith_throughput.py`` with the interpreter of NNSmith's environment.

Usage: nnsmith_driver.py SECONDS NODES FOLDER

NNSmith 0.1.0 was written for older libraries: torch's exporter has another default since, and ``onnx`` has lost a
private function. Both are put back here; nothing else of it is changed. Prints one line of JSON.
"""

import functools
import json
import sys
import time

import onnx
import torch

torch.set_num_threads(1)
torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False)
onnx._serialize = lambda model: model.SerializeToString()

from nnsmith.cli import fuzz  # noqa: E402 (the libraries are made ready first)


class Counted(fuzz.FuzzingLoop):
    """The loop, with the CPU time it takes and what its models are made of; counting itself is not timed."""

    def run(self):
        self.models, self.elements, self.counting = 0, 0, 0.0
        self.operators, self.values = set(), set()
        self.nodes = 0
        began = time.process_time()
        super().run()
        spent = time.process_time() - began - self.counting
        found = {
            "models": self.models,
            "cpu_seconds": spent,
            "nodes": self.nodes,
            "elements": self.elements,
            "operators": len(self.operators),
            "values": len(self.values),
            "failed": self.status.n_fail_make_test,
            "reports": self.status.n_bugs,
        }
        sys.__stdout__.write("RESULT " + json.dumps(found) + "\n")

    def validate_and_report(self, testcase):
        answer = super().validate_and_report(testcase)
        began = time.process_time()
        self.models += 1
        graph = testcase.model.native_model.graph
        for node in graph.node:
            if node.op_type != "Constant":
                self.nodes += 1
                self.operators.add(node.op_type)
                for attribute in node.attribute:
                    value = onnx.helper.get_attribute_value(attribute)
                    if isinstance(value, (int, float, bytes, list)):
                        self.values.add((node.op_type, attribute.name, repr(value)))
        self.elements += sum(array.size for array in testcase.oracle.output.values())
        self.counting += time.process_time() - began
        return answer


if __name__ == "__main__":
    seconds, nodes, folder = sys.argv[1:]
    fuzz.FuzzingLoop = Counted
    settings = [f"fuzz.time={seconds}s", "fuzz.seed=1", f"fuzz.root={folder}", f"mgen.max_nodes={nodes}"]
    sys.argv[1:] = [*settings, "model.type=onnx", "backend.type=onnxruntime"]
    fuzz.main()
