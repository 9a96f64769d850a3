"""Run as a script: small torch programs, exported and saved into the folder that is its argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

BATCH = torch.export.Dim("batch")


class Convolutions(nn.Module):
    """A small image classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 8, 3, stride=2)
        self.head = nn.Linear(8, 5)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.norm(self.first(image)))
        hidden = nn.functional.silu(self.second(hidden))
        return torch.softmax(self.head(hidden.mean((2, 3))), -1)


class Several(nn.Module):
    """Token ids and floats in, several outputs of several kinds out; tied weights, a buffer, a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.back = nn.Linear(6, 11, bias=False)
        self.back.weight = self.table.weight
        self.register_buffer("offset", torch.arange(6.0))
        self.constant = torch.full((6,), 0.5)

    def forward(self, tokens: torch.Tensor, scale: torch.Tensor) -> dict[str, Any]:
        hidden = self.table(tokens) * scale[:, None, :] + self.offset * self.constant
        left, right = torch.chunk(hidden.reshape(hidden.shape[0], -1), 2, dim=1)
        return {"logits": self.back(hidden), "halves": (left, right), "next": tokens + 1}


class Writing(nn.Module):
    """Writes in place, and into its own buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1.0
        return nn.functional.relu(self.dense(x), inplace=True) + self.seen


class Whole(nn.Module):
    """Exported for one batch size only."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.dense(x.reshape(2, 6)))


class Scalar(nn.Module):
    def forward(self, x: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
        return x * rate


class Denoiser(nn.Module):
    """What it gives has the name of what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(4, 4)

    def forward(self, sample: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"sample": sample - torch.tanh(self.dense(sample))}


def save(folder: Path, name: str, module: nn.Module, inputs: tuple[Any, ...], shapes: Any = None) -> None:
    program = torch.export.export(module.eval(), inputs, dynamic_shapes=shapes)
    torch.export.save(program, folder / f"{name}.pt2")


def main(folder: Path) -> None:
    torch.manual_seed(0)
    save(folder, "convolutions", Convolutions(), (torch.randn(2, 3, 9, 9),), ({0: BATCH},))
    ids, scale = torch.randint(0, 11, (2, 4)), torch.randn(2, 6)
    save(folder, "several", Several(), (ids, scale), ({0: BATCH}, {0: BATCH}))
    save(folder, "writing", Writing(), (torch.randn(2, 4),), ({0: BATCH},))
    save(folder, "whole", Whole(), (torch.randn(2, 2, 3),))
    save(folder, "denoiser", Denoiser(), (torch.randn(2, 4),), ({0: BATCH},))
    save(folder, "scalar", Scalar(), (torch.randn(2, 2), torch.tensor(2.0)))
    torch.manual_seed(1)
    save(folder, "other_weights", Convolutions(), (torch.randn(2, 3, 9, 9),), ({0: BATCH},))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
