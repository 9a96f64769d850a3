"""A Runner that has every graph exported before an ONNX runtime gets it: how an exporter is reduced.

Elsewhere layers are lowered by ourselves, and an exporter has no part in it. Here each candidate goes through the
exporter under suspicion, in a worker of its own target, without any planted fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from ..core.case import EXPORTED_ONNX, Case, ModelFile
from ..core.errors import WorkerStartError
from ..core.graph import LayerGraph
from ..core.messages import gist
from ..core.outcome import Failure, Outcome, Status
from ..core.runner import Runner, one_fresh_set
from .catalogue import spec_of
from .names import parse_target
from .requests import End
from .runner import LocalRunner

_SECONDS = 300.0


class ExportingRunner:
    """Runs graphs as they are where layers are taken, and exported elsewhere.

    Args:
        runner: of the targets.
        home: has the target that exports, and nothing planted in it.
        exporter: that target.
        folder: where the files go; the caller's to remove.
    """

    def __init__(self, runner: Runner, home: LocalRunner, exporter: str, folder: Path) -> None:
        self._runner = runner
        self._home = home
        self._exporter = exporter
        self._folder = folder
        self._files: dict[str, ModelFile | str] = {}

    @property
    def targets(self) -> Sequence[str]:
        return self._runner.targets

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        given = [self._case_for(case, target) for case, target in pairs]
        runnable = [(case, target) for case, (_, target) in zip(given, pairs, strict=True) if isinstance(case, Case)]
        answers = iter(
            self._runner.run_pairs(runnable, fresh=fresh, deadline_factor=deadline_factor, on_outcome=on_outcome)
        )
        return [
            next(answers) if isinstance(case, Case) else _unsupported_outcome(target, case)
            for case, (_, target) in zip(given, pairs, strict=True)
        ]

    def one_fresh_set(self) -> AbstractContextManager[None]:
        """Where the runner inside has one: what is run fresh within it shares its workers."""
        return one_fresh_set(self._runner)

    def _case_for(self, case: Case, target: str) -> Case | str:
        """The case for a target, or why there is none."""
        if spec_of(parse_target(target)).traits.lowering != "onnx" or not isinstance(case.subject, LayerGraph):
            return case
        if case.digest not in self._files:
            self._files[case.digest] = self._export(case)
        file = self._files[case.digest]
        return file if isinstance(file, str) else replace(case, subject=file, weights={})

    def _export(self, case: Case) -> ModelFile | str:
        header = {"do": "export", "form": "onnx", "case": {**case.header(), "trust": self._home.settings.trust}}
        try:
            reply = self._home.ask(self._exporter, header, case.arrays(), _SECONDS)
        except WorkerStartError as error:
            return str(error)
        if reply.end is not End.ANSWERED:
            return f"exporting it failed: {reply.end.value}"
        if reply.header["status"] != "completed":
            failure = reply.header["failure"]
            return f"exporting it failed: {failure['type']}: {gist(failure['message'])}"
        data = reply.arrays["weights:model"].tobytes()
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._folder / f"{sha256[:24]}.onnx"
        path.write_bytes(data)
        return ModelFile(str(path), sha256, EXPORTED_ONNX)


def _unsupported_outcome(target: str, reason: str) -> Outcome:
    return Outcome(target, Status.UNSUPPORTED, failure=Failure("Unsupported", reason))
