"""torch.fft: a tensor without rows is refused by MKL."""

import torch

if not torch.backends.mkl.is_available():
    print("this build of torch has no MKL")
    raise SystemExit(77)
refused = []
for name in ("fft", "ifft", "rfft", "irfft", "hfft"):
    rows = torch.zeros(0, 4, dtype=torch.float32 if name == "rfft" else torch.complex64)
    try:
        getattr(torch.fft, name)(rows)
    except RuntimeError as error:
        refused.append(f"{name}: {error}")
print("expected a tensor of no rows, observed", *refused or ["it"], sep="\n")
raise SystemExit(1 if refused else 0)
