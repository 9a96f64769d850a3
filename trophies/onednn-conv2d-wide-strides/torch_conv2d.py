"""torch: conv2d of channels-last images with strides (1, 2) and one output column leaves rows unwritten."""

import os
import sys
from pathlib import Path

if "avx512bw" not in Path("/proc/cpuinfo").read_text():
    print("skipped: only oneDNN's kernel for AVX-512 shows this, and this processor has none")
    sys.exit(77)
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE"
import torch

torch.manual_seed(0)
x = torch.randn(2, 8, 4, 1).permute(0, 3, 1, 2)  # images with their channels last, as Keras has them
kernel = torch.randn(1, 1, 3, 3)
for _ in range(8):  # so that there are numbers in the memory that is not written
    torch.nn.functional.conv2d(torch.randn(2, 1, 9, 9), kernel)
observed = torch.nn.functional.conv2d(x, kernel, stride=(1, 2))
expected = torch.nn.functional.conv2d(x.double(), kernel.double(), stride=(1, 2))
print("expected:", [round(number, 4) for number in expected.flatten().tolist()])
print("observed:", [round(number, 4) for number in observed.flatten().tolist()])
sys.exit(0 if torch.allclose(observed.double(), expected, atol=1e-4) else 1)
