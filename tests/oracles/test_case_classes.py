"""What class a difference gets: freedoms, refusals, deaths, one target alone, outputs after the first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.losses.alone import loss_alone
from tensorparity.reporting.words import sentences

from ..judging import judge

TF, JAX, TORCH = "keras:tensorflow", "keras:jax", "keras:torch"


def gave(target: str, *arrays: Array, name: str = "") -> Outcome:
    outputs = {name or str(index): array for index, array in enumerate(arrays)}
    return Outcome(target, Status.COMPLETED, outputs)


def ended(target: str, status: Status, kind: str = "ValueError", message: str = "no") -> Outcome:
    return Outcome(target, status, failure=Failure(kind, message))


def called(api: str, *arrays: Array) -> Case:
    names = "ab"[: len(arrays)]
    call = ApiCall(api, tuple(ArrayArg(name) for name in names))
    return Case(call, Procedure(goal=Goal.CALL), inputs=dict(zip(names, arrays, strict=True)))


def one_layer(op: str, x: Array, weights: Mapping[str, Array] | None = None, **params: object) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add(op, build.input("x", x.shape[1:], x.dtype.name), name="n", **params))
    return Case(graph, inputs={"x": x}, weights=weights or {})


def judged(case: Case, *outcomes: Outcome, convicted: tuple[str, ...] = ()) -> Suspicion:
    suspicion, _ = judge(case, {outcome.target: outcome for outcome in outcomes}, convicted=convicted)
    assert suspicion is not None
    return suspicion


def verdict(case: Case, *outcomes: Outcome) -> tuple[Class, tuple[str, ...]]:
    diagnosis: Diagnosis = judged(case, *outcomes).diagnosis
    return diagnosis.klass, diagnosis.suspects


class TestFreedoms:
    FMOD = called("torch.fmod", np.array([7, 1]), np.array([4, 0]))
    TABLE = np.arange(8, dtype=np.float32).reshape(4, 2)
    EMBEDDING = one_layer("Embedding", np.array([[1, 9]]), {"n/embeddings": TABLE}, input_dim=4, output_dim=2)

    def test_any_answer_to_a_division_by_zero(self) -> None:
        first, second = gave("torch:eager", np.array([3, -5])), gave("torch:compile", np.array([3, 77]))
        assert verdict(self.FMOD, first, second) == (Class.SPECIFICATION, ())
        assert "documented freedom" in " ".join(sentences(judged(self.FMOD, first, second).diagnosis))

    def test_a_wrong_answer_beside_it_is_wrong(self) -> None:
        first, second = gave("torch:eager", np.array([99, 0])), gave("torch:compile", np.array([3, 0]))
        assert verdict(self.FMOD, first, second) == (Class.DEFECT, ("torch:eager",))

    def test_it_may_raise(self) -> None:
        raised = ended("torch:eager", Status.RAISED, "RuntimeError", "ZeroDivisionError")
        assert verdict(self.FMOD, raised, gave("torch:compile", np.array([3, 0]))) == (Class.SPECIFICATION, ())

    def test_it_may_not_die(self) -> None:
        died = ended("torch:eager", Status.CRASHED, "SIGFPE")
        assert verdict(self.FMOD, died, gave("torch:compile", np.array([3, 0])))[0] is Class.DEFECT

    @pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, np.nan], [6.0, 7.0]])
    def test_rows_of_indices_out_of_range(self, row: list[float]) -> None:
        first = gave(JAX, np.array([[[2.0, 3.0], row]], np.float32), name="n")
        second = gave(TORCH, np.array([[[2.0, 3.0], [-1.0, -1.0]]], np.float32), name="n")
        assert verdict(self.EMBEDDING, first, second) == (Class.SPECIFICATION, ())
        wrong = gave(TORCH, np.array([[[9.0, 3.0], [0.0, 0.0]]], np.float32), name="n")
        assert verdict(self.EMBEDDING, first, wrong) == (Class.DEFECT, (TORCH,))

    def test_embedding_may_raise(self) -> None:
        raised = ended(TF, Status.RAISED, "InvalidArgumentError", "indices[0,1] = 9 is not in [0, 4)")
        right = gave(JAX, np.array([[[2.0, 3.0], [0.0, 0.0]]], np.float32), name="n")
        assert verdict(self.EMBEDDING, raised, right) == (Class.SPECIFICATION, ())


class TestEndings:
    CASE = one_layer("ReLU", np.ones((1, 2), np.float32))
    RIGHT = gave(TORCH, np.ones((1, 2), np.float32), name="n")

    def test_the_library_says_that_it_has_no_such_thing(self) -> None:
        lacks = ended("keras:openvino", Status.RAISED, "NotImplementedError", "`relu` is not supported with openvino")
        assert verdict(self.CASE, lacks, self.RIGHT)[0] is Class.UNSUPPORTED

    def test_documented_support_that_raises(self) -> None:
        x = np.ones((1, 3), np.float32)
        case = Case(OPERATORS.get("tanh").api_call({}), Procedure(goal=Goal.CALL), inputs={"x": x})
        raised = ended("jax:eager", Status.RAISED, "UnimplementedError", "tanh is not supported here")
        assert verdict(case, raised, gave("torch:eager", np.tanh(x)))[0] is Class.DEFECT

    def test_death_is_not_filed_under_an_exception(self) -> None:
        died = ended(JAX, Status.CRASHED, "SIGSEGV")
        for outcomes in ((ended(TF, Status.RAISED), died), (died, ended(TF, Status.RAISED))):
            suspicion = judged(self.CASE, *outcomes, self.RIGHT)
            assert (suspicion.kind, suspicion.exception) == (Kind.CRASH, "SIGSEGV")
            assert suspicion.diagnosis.suspects == (JAX,)
            assert len(sentences(suspicion.diagnosis)) == 2

    def test_those_who_end_alike_are_suspects_together(self) -> None:
        assert judged(
            self.CASE, ended(TF, Status.RAISED), ended(JAX, Status.RAISED), self.RIGHT
        ).diagnosis.suspects == (
            TF,
            JAX,
        )


class TestAlone:
    CASE = one_layer("ReLU", np.ones((1, 2), np.float32))
    WRONG = gave(TF, np.full((1, 2), 3, np.float32), name="n")

    def test_nobody_else_was_asked(self) -> None:
        suspicion, undecided = judge(self.CASE, {TF: self.WRONG})
        assert suspicion is None
        assert "another target must tell" in undecided

    def test_nothing_is_rounded_in_its_formula(self) -> None:
        case = one_layer("Flatten", np.ones((1, 2), np.float32))
        assert judged(case, self.WRONG).diagnosis.suspects == (TF,)

    def test_it_was_convicted_by_others(self) -> None:
        assert judged(self.CASE, self.WRONG, convicted=(TF,)).diagnosis.suspects == (TF,)

    def test_a_call_that_a_plain_evaluation_gets_right(self) -> None:
        case = called("torch.fmod", np.array([2**60 + 1]), np.array([2]))
        assert verdict(case, gave("torch:eager", np.array([0]))) == (Class.DEFECT, ("torch:eager",))

    def test_a_call_that_is_ill_conditioned(self) -> None:
        x = np.array([[1e8, 1.0, -1e8]], np.float32)
        case = called("keras.ops.sum", x)
        assert judge(case, {TF: gave(TF, np.float32(1.0))}) == (None, "")


class TestFurtherOutputs:
    MATRIX = np.array([[2.0, 1.0], [1.0, 2.0]], np.float32)
    VALUES = np.array([1.0, 3.0], np.float32)
    VECTORS = np.array([[-1.0, 1.0], [1.0, 1.0]], np.float32) / np.sqrt(np.float32(2))

    def judged(self, vectors: Array) -> tuple[Suspicion | None, str]:
        case = called("keras.ops.eigh", self.MATRIX)
        right = gave(JAX, self.VALUES, -self.VECTORS)  # the sign is nobody's fault
        return judge(case, {JAX: right, TORCH: gave(TORCH, self.VALUES, vectors.astype(np.float32))})

    def test_eigenvectors_of_any_sign(self) -> None:
        assert self.judged(self.VECTORS) == (None, "")

    @pytest.mark.parametrize("wrong", [np.full((2, 2), 9.0), 2 * VECTORS, VECTORS[:, ::-1]])
    def test_what_is_no_eigenvector(self, wrong: Array) -> None:
        suspicion, _ = self.judged(wrong)
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == (TORCH,)


class TestLossesThatEnd:
    """A loss alone that a target cannot compute is that loss' finding, and a lack is not another's error."""

    LACK = "Only axis=-1 is currently supported. Received: axis=1"
    CASE = loss_alone(
        Recipe("SparseCategoricalCrossentropy", {"axis": 1}),
        {"y": np.full((1, 2, 3), 0.5, np.float32)},
        {"y": np.array([[0, 1, 1]], np.int32)},
        dtype=None,
        seed=0,
    )

    def _completed(self) -> Outcome:
        return gave(TORCH, np.full((1, 2, 3), 0.5, np.float32), name="y0")

    def test_it_is_named_with_its_arguments(self) -> None:
        raised = ended(JAX, Status.RAISED, message="shapes differ")
        suspicion = judged(self.CASE, raised, self._completed())
        assert suspicion.stage is Stage.LOSS
        assert suspicion.diagnosis.api == "keras.losses.SparseCategoricalCrossentropy"
        assert suspicion.diagnosis.parameters == {"axis": 1}
        assert suspicion.diagnosis.node is None

    @pytest.mark.parametrize("lacking_first", [True, False])
    def test_an_error_is_not_excused_by_anothers_lack(self, lacking_first: bool) -> None:
        both = [ended(TF, Status.RAISED, message=self.LACK), ended(JAX, Status.RAISED, message="shapes differ")]
        assert verdict(self.CASE, *(both if lacking_first else both[::-1]), self._completed()) == (Class.DEFECT, (JAX,))

    def test_a_lack_alone_is_one(self) -> None:
        lacks = ended(TF, Status.RAISED, message=self.LACK)
        assert verdict(self.CASE, lacks, self._completed()) == (Class.UNSUPPORTED, (TF,))
