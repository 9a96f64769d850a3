"""Is there a model file at all: what every reader of one asks first."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import ModelRefusedError
from ...core.near_misses import meant_file

_EXPECTED = "expected a .keras, .h5, .onnx or .pt2 file"
#: What folders that hold a model are known by, and what to do with them.
_FOLDERS = {
    "saved_model.pb": "a SavedModel of TensorFlow; save the model as .keras, or convert it to .onnx",
    "config.json": "a model of Hugging Face, perhaps; expected MODULE:FUNCTION, a function that loads and returns it",
}


def check_is_file(path: Path) -> None:
    """Nothing was done yet for a file that is not there.

    Raises:
        ModelRefusedError: missing, or a folder.
    """
    if path.is_dir():
        known = next((said for name, said in _FOLDERS.items() if (path / name).is_file()), _EXPECTED)
        raise ModelRefusedError(f"{str(path)!r} is a folder; {known}")
    if not path.exists():
        raise ModelRefusedError(f"no model at {str(path)!r}{meant_file(path)}")


_PICKLED = (
    " (if torch.save wrote it, a function that builds the model and loads its weights can be compared, "
    "or what torch.export.save writes)"
)
_HINTS = {
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle"), _PICKLED),
    ".safetensors": " (these are weights alone: a function that builds the model and loads them can be compared)",
    **dict.fromkeys((".csv", ".npz", ".npy"), " (data belongs to --data)"),
    **dict.fromkeys((".pb", ".tflite"), " (save the model as .keras, or convert it to .onnx)"),
}


def hint(path: Path) -> str:
    """What to do with a file of a kind that many take for a model."""
    return _HINTS.get(path.suffix.lower(), "")
