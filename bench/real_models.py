"""The table of real models: each compared on several targets, with what the targets cost without us.

    python bench/real_models.py                      all that can be made here
    python bench/real_models.py bert gpt2            some of them
    python bench/real_models.py --no-bare            without measuring the targets alone
    python bench/real_models.py --write docs/models.md   the table into the page, between its two marks

Results are kept in ``--folder`` as one JSON each, so that a run can be taken up again; ``--table`` only prints what is
there. CPU seconds are those of the whole process tree; bare is the sum over the targets of ``bare_forward.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TORCH = ("torch:eager", "torch:compile", "onnxruntime", "openvino")
KERAS = ("keras:tensorflow", "keras:jax", "keras:torch", "onnxruntime", "openvino")
ONNX = ("onnxruntime", "openvino", "onnx:reference")
_BEGIN, _END = "<!-- table of models: begin -->", "<!-- table of models: end -->"


#: What a reader should know of a result: the reason of a difference or a refusal. The page has the ways round.
REMARKS = {
    "bert_any_length": "batch and length may vary",
    "albert": "layers share their weights",
    "gpt2": "tied weights; the cache is compared, too",
    "llama": "the cache is compared, too",
    "llama_next_token": "a cache goes in and comes out",
    "mixtral": "refused: an operator that transformers registers with torch",
    "mixtral_eager_experts": "refused: torch.export raises; the number of tokens of an expert depends on the data",
    "t5": "torch's exporter to ONNX raises on its fused attention",
    "tabular": "dictionaries in and out",
    "lstm_without_batch": "no batch axis: one run per instance",
    "two_vectors": "no batch axis: one run per instance",
    "running_mean": "a buffer that changes with every call",
    "squeezenet": "opset 9: the reference evaluator's softmax takes another axis",
    "shufflenet": "opset 9: the reference evaluator normalizes by the batch",
    "resnet18_qoperator_int8": "operators that only onnxruntime has",
    "diffusion_unet": "the answer is a dataclass",
}


@dataclass(frozen=True)
class Entry:
    """A model of the table.

    Args:
        kind: where it comes from, as the table says it.
        source: what ``compare`` is given; a path may be made by ``model_files.py`` first.
        options: further options of ``compare``, such as ``--input``.
        remark: what a reader should know: the reason of a difference or a refusal, and the way round.
    """

    name: str
    kind: str
    source: str
    targets: Sequence[str] = TORCH
    options: Sequence[str] = ()
    remark: str = ""


def _factories(kind: str, names: str, targets: Sequence[str] = TORCH, options: Sequence[str] = ()) -> Iterator[Entry]:
    for name in names.split():
        yield Entry(name, kind, f"model_factories:{name}", targets, options)


def entries() -> list[Entry]:
    from model_files import file_entries

    text = "bert bert_any_length bert_classifier distilbert roberta albert electra gpt2 llama llama_next_token qwen"
    plain = "resnet18 efficientnet diffusion_unet tabular lstm_without_batch running_mean two_vectors"
    found = [
        *_factories("transformers, text", f"{text} mixtral mixtral_eager_experts mamba t5 t5_eager_attention bart"),
        *_factories("transformers, images", "vit dinov2 swin convnext clip segformer"),
        *_factories("transformers, sound", "whisper wav2vec2"),
        *_factories("plain torch", plain),
        *_factories("diffusers", "diffusers_unet"),
        *_factories("timm", "timm_mobilenet"),
        *_factories("KerasHub", "kerashub_transformer kerashub_bert", KERAS, ("--import", "keras_hub")),
        Entry("zoo:lenet5", "Keras", "zoo:lenet5", KERAS),
    ]
    found += [Entry(**item) for item in file_entries()]
    return found


@dataclass
class Row:
    """What came of one model."""

    name: str
    kind: str
    exit: int = 0
    headline: str = ""
    verdicts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    cpu: float = 0.0
    bare: dict[str, float] = field(default_factory=dict)


def measure(entry: Entry, *, bare: bool) -> Row:
    from model_files import make_file

    make_file(entry.name)
    with tempfile.TemporaryDirectory(prefix="tensorparity-models-") as folder:
        command = [sys.executable, "-m", "tensorparity", "compare", entry.source, "--targets", ",".join(entry.targets)]
        options = ["--instances", "8", "--no-reduce", "--out", folder, "--format", "json", *entry.options]
        code, cpu, out, said = _run([*command, *options])
    row = Row(entry.name, entry.kind, code, cpu=cpu)
    try:
        _read_document(row, json.loads(out), entry.targets)
    except ValueError:
        row.headline = (said.strip().splitlines() or ["no answer"])[-1].removeprefix("tensorparity: ")
        row.verdicts = dict.fromkeys(entry.targets, "refused")
    if bare:
        for target in entry.targets:
            script = [sys.executable, str(HERE / "bare_forward.py"), target, entry.source]
            code, seconds, _, said = _run(script)
            if code == 0:
                row.bare[target] = seconds
    return row


def _run(command: Sequence[str]) -> tuple[int, float, str, str]:
    """Exit code, CPU seconds of the process and all its descendants, standard output and error."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "TRANSFORMERS_VERBOSITY": "error"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=HERE, stdout=out, stderr=errors, env=variables)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        return process.returncode, usage.ru_utime + usage.ru_stime, out.read(), errors.read()


def _read_document(row: Row, document: Mapping[str, Any], targets: Sequence[str]) -> None:
    row.notes = list(document.get("notes", ()))
    worst: dict[str, list[str]] = {target: [] for target in targets}
    for pair in document["comparisons"]:
        for side in (pair["a"], pair["b"]):
            worst.setdefault(side, []).append(pair["verdict"])
    ended = {item["name"]: item["status"] for item in document["details"]}
    suspects = {s for finding in document["findings"] for s in finding["suspects"]}
    row.notes += [f"{item['title']} (suspects: {', '.join(item['suspects'])})" for item in document["findings"]]
    for target in targets:
        seen = worst[target]
        if target in suspects:
            row.verdicts[target] = "differs"
        elif ended.get(target, "completed") != "completed":
            row.verdicts[target] = ended[target]
            row.notes += [f"{item['name']}: {item['reason']}" for item in document["details"] if item["name"] == target]
        else:
            row.verdicts[target] = "same" if "pass" in seen else ("undecided" if seen else "not run")
    row.headline = str(document.get("headline") or document.get("summary") or "")


def table(rows: Sequence[Row], remarks: Mapping[str, str]) -> str:
    lines = [
        "| model | kind | verdict per target | CPU of the comparison | remark |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        verdicts = "; ".join(f"`{target}` {verdict}" for target, verdict in row.verdicts.items())
        bare = sum(row.bare.values())
        complete = len(row.bare) == len(row.verdicts)
        cost = f"{row.cpu:.0f} s, {row.cpu / bare:.2f} × bare" if bare and complete else f"{row.cpu:.0f} s"
        lines.append(f"| `{row.name}` | {row.kind} | {verdicts} | {cost} | {remarks.get(row.name, '')} |")
    return "\n".join(lines)


def _merged(known: str, new: str) -> str:
    """The rows of the page, each as it was measured last, in the order of ``entries``."""
    lines = [*known.strip().splitlines(), *new.splitlines()]
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    head = [line for line in new.splitlines() if not line.startswith("| `")]
    return "\n".join([*head, *(rows[entry.name] for entry in entries() if entry.name in rows)])


def main() -> None:
    options = _options()
    chosen = [entry for entry in entries() if not options.names or entry.name in options.names]
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    if options.targets:
        chosen = [replace(entry, targets=options.targets) if entry.targets == TORCH else entry for entry in chosen]
    for entry in chosen:
        kept = options.folder / f"{entry.name.replace(':', '-')}.json"
        if not kept.exists() and not options.table:
            row = measure(entry, bare=not options.no_bare)
            kept.write_text(json.dumps(vars(row), indent=1))
            print(f"{row.name}: exit {row.exit}, {row.verdicts}, {row.cpu:.0f} s, bare {sum(row.bare.values()):.0f} s")
        if kept.exists():
            rows.append(Row(**json.loads(kept.read_text())))
    remarks = {**REMARKS, **{entry.name: entry.remark for entry in chosen if entry.remark}}
    text = table(rows, remarks)
    if options.write:
        page = options.write.read_text()
        before, _, rest = page.partition(_BEGIN)
        known, _, after = rest.partition(_END)
        options.write.write_text(f"{before}{_BEGIN}\n\n{_merged(known, text)}\n\n{_END}{after}")
    else:
        print(text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "tensorparity-real-models")
    parser.add_argument("--targets", type=lambda text: tuple(text.split(",")), help="instead of those of the table")
    parser.add_argument("--no-bare", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
