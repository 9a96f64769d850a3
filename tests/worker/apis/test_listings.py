"""The public functions of the installed libraries, enumerated in their workers; nothing of the user is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorparity.core.call import ApiCall
from tensorparity.core.case import Case
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.generators.api_inputs import ApiInputs, ApiListing, shipped_cases
from tensorparity.targets.limits import WorkerLimits
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner

_TARGETS = [
    pytest.param("torch:eager", marks=pytest.mark.torch),
    pytest.param("tensorflow:eager", marks=pytest.mark.tensorflow),
    pytest.param("jax:eager", marks=pytest.mark.jax),
    pytest.param("keras:numpy", marks=pytest.mark.jax),
]


@pytest.fixture(scope="module", params=_TARGETS)
def runner(request: pytest.FixtureRequest) -> Iterator[LocalRunner]:
    settings = RunnerSettings(limits=WorkerLimits(cpu_seconds=10.0))
    with open_runner([request.param], settings) as opened:
        yield opened


def described(runner: LocalRunner, goal: Goal) -> Outcome:
    return runner.run_pairs([(Case(ApiCall(""), Procedure(goal=goal)), runner.targets[0])])[0]


@pytest.fixture(scope="module")
def listing(runner: LocalRunner) -> ApiListing:
    return ApiListing.from_json(described(runner, Goal.APIS).reply)


def test_hundreds_are_listed_and_each_exclusion_has_a_reason(listing: ApiListing) -> None:
    assert len(listing.apis) > 400
    assert all(listing.excluded.values())
    assert not set(listing.apis) & set(listing.excluded)


def test_a_callable_is_listed_once(listing: ApiListing) -> None:
    names = [name for api in listing.apis.values() for name in (api.name, *api.aliases)]
    assert len(names) == len(set(names))
    for methods in ("torch.Tensor.add", "torch.Tensor.add_", "torch.nn.functional.relu"):
        assert methods not in listing.apis


#: Of what lies below a module that is listed, or has a word that also means chance.
_FOUND = {
    "keras": ["keras.ops.image.resize", "keras.ops.image.ssim", "keras.utils.pad_sequences", "keras.losses.poisson"],
    "torch": [
        "torch.optim.Adam",
        "torch.signal.windows.exponential",
        "torch.nn.functional.scaled_dot_product_attention",
    ],
    "tensorflow": ["tensorflow.math.invert_permutation", "tensorflow.raw_ops.MatrixSetDiagV3"],
    "jax": ["jax.lax.linalg.lu_pivots_to_permutation"],
}


def test_what_computes_is_found(listing: ApiListing) -> None:
    names = {name for api in listing.apis.values() for name in (api.name, *api.aliases)}
    assert not set(_FOUND[listing.library]) - names


def test_nothing_that_touches_the_world_is_listed(listing: ApiListing) -> None:
    words = ("save", "load", "read_file", "ReadFile", "WriteFile", "from_file", "fromfile", "py_function", "compile")
    assert not [name for name in listing.apis if name.rsplit(".", 1)[-1] in words]


def test_a_canary_in_the_users_folder_survives_a_sweep(
    runner: LocalRunner, listing: ApiListing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some hundred functions drawn over the whole listing; all of them in ``bench/api_inputs.py``."""
    canary = tmp_path / "canary.txt"
    canary.write_text("alive")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    inputs = ApiInputs(listing, 0)
    names = sorted(listing.apis)[:: max(1, len(listing.apis) // 80)]
    pairs = [(case, runner.targets[0]) for name in names for case in inputs.configurations(name, 1)]
    outcomes = runner.run_pairs(pairs)
    assert sum(outcome.status is Status.COMPLETED for outcome in outcomes) > len(names) // 3
    assert [path.name for path in tmp_path.iterdir()] == ["canary.txt"]
    assert canary.read_text() == "alive"


@pytest.mark.slow
def test_inputs_that_ship_inside_a_library_are_accepted(runner: LocalRunner, listing: ApiListing) -> None:
    outcome = described(runner, Goal.SAMPLES)
    if outcome.status is Status.UNSUPPORTED:
        pytest.skip("this library brings no inputs along")
    cases = shipped_cases(outcome, listing)
    assert len(cases) > 50
    some = [case for api in sorted(cases)[::10] for case in cases[api][:2]]
    results = runner.run_pairs([(case, runner.targets[0]) for case in some])
    assert sum(result.completed for result in results) > 0.9 * len(some)
