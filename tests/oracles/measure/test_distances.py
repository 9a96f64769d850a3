"""CRADLE's distances: the paper's own examples, its borders, and what it does not say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tensorparity.core.arrays import Array
from tensorparity.core.comparison import Distance
from tensorparity.core.errors import DataError
from tensorparity.oracles.measure.distances import (
    accuracy_inconsistent,
    as_classes,
    check_labels,
    class_distance,
    class_labels,
    class_pattern,
    class_threshold,
    distances_of,
    is_inconsistent,
    mad_distance,
    mad_pattern,
    most_inconsistent,
    rank_of_label,
    scores,
    top_k_accuracy,
    unique_inconsistencies,
)

PETRI_DISH = np.array([3])


def ranked(rank: int, classes: int = 8, label: int = 3) -> Array:
    """Confidences that put the label at that rank."""
    order = [index for index in range(classes) if index != label]
    order.insert(rank - 1, label)
    confidence = np.zeros((1, classes))
    confidence[0, order] = np.arange(classes, 0, -1)
    return confidence / confidence.sum()


class TestThePapersExamples:
    def test_petri_dish_first_and_outside_of_the_top_five(self) -> None:
        assert class_distance(ranked(1), ranked(6), PETRI_DISH).tolist() == [16.0]

    def test_petri_dish_first_and_third(self) -> None:
        assert class_distance(ranked(1), ranked(3), PETRI_DISH).tolist() == [12.0]

    @pytest.mark.parametrize(("rank", "score"), [(1, 16), (2, 8), (3, 4), (4, 2), (5, 1), (6, 0), (8, 0)])
    def test_score_halves_with_each_rank(self, rank: int, score: float) -> None:
        assert scores(ranked(rank), PETRI_DISH).tolist() == [score]

    def test_dave_2(self) -> None:
        distance = mad_distance(np.array([[0.4]]), np.array([[-0.1]]), np.array([[0.0]]))
        assert distance == pytest.approx([0.6])
        assert mad_pattern(distance)["0.6-0.8"] == 1

    @pytest.mark.parametrize("row", [(10, 202, 147, 100, 85, 4456), (5, 132, 86, 77, 65, 4635)])
    def test_table_1(self, row: tuple[int, ...]) -> None:
        distances = np.repeat([16.0, 12.0, 7.0, 2.0, 1.0, 0.0], row)
        pattern = class_pattern(distances)
        assert list(pattern) == ["16", "15-8", "7-4", "3-2", "1", "0"]
        assert tuple(pattern.values()) == row
        assert sum(pattern.values()) == 5000

    def test_every_distance_two_scores_can_have_is_in_one_bin(self) -> None:
        possible = [16.0, 8.0, 4.0, 2.0, 1.0, 0.0]
        distances = np.array([abs(a - b) for a in possible for b in possible])
        assert sum(class_pattern(distances).values()) == len(distances)
        assert class_pattern(np.array([15.0, 8.0])) == {"16": 0, "15-8": 2, "7-4": 0, "3-2": 0, "1": 0, "0": 0}


class TestThresholds:
    def test_the_strictest_class_threshold_can_be_reached(self) -> None:
        assert is_inconsistent(np.array([16.0]), threshold=16)

    def test_just_below_is_consistent(self) -> None:
        assert not is_inconsistent(np.array([15.0, 0.1999]), threshold=16)

    def test_zero_percent_still_needs_one_instance(self) -> None:
        assert not is_inconsistent(np.zeros(10), threshold=8, share=0)

    @pytest.mark.parametrize(("triggered", "expected"), [(9, False), (10, True), (11, True)])
    def test_share_is_a_percentage_and_inclusive(self, triggered: int, expected: bool) -> None:
        distances = np.repeat([16.0, 0.0], [triggered, 100 - triggered])
        assert is_inconsistent(distances, threshold=8, share=10) is expected

    def test_no_instances_are_not_inconsistent(self) -> None:
        assert not is_inconsistent(np.zeros(0), threshold=0)


class TestTheChosenSettings:
    """Section IV: T_C = 8, T_M = 0.2, p = 0 %, k = 5; and the same for another k."""

    @pytest.mark.parametrize(("ranks", "expected"), [((2, 5), False), ((2, 6), True)], ids=["7", "8"])
    def test_an_instance_triggers_from_a_class_distance_of_8_on(self, ranks: tuple[int, int], expected: bool) -> None:
        assert distances_of(ranked(ranks[0]), ranked(ranks[1]), PETRI_DISH)[0].inconsistent is expected

    @pytest.mark.parametrize(("delta", "expected"), [(0.66, True), (0.67, False)])
    def test_an_instance_triggers_from_a_mad_distance_of_a_fifth_on(self, delta: float, expected: bool) -> None:
        # |1 - delta| / (1 + delta) is 0.2 at two thirds
        (found,) = distances_of(np.array([[1.0]]), np.array([[delta]]), np.array([[0.0]]))
        assert found.inconsistent is expected

    def test_one_instance_of_a_thousand_is_enough(self) -> None:
        a, b = np.repeat(ranked(1), 1000, axis=0), np.repeat(ranked(1), 1000, axis=0)
        b[0] = ranked(6)
        assert distances_of(a, b, np.repeat(PETRI_DISH, 1000))[0].inconsistent

    def test_ranks_beyond_the_fifth_are_not_interesting(self) -> None:
        assert class_distance(ranked(6), ranked(8), PETRI_DISH).tolist() == [0.0]
        assert class_distance(ranked(5), ranked(6), PETRI_DISH).tolist() == [1.0]

    @pytest.mark.parametrize(("k", "threshold"), [(5, 8.0), (3, 2.0), (6, 16.0), (1, 0.5)])
    def test_the_threshold_is_scaled_with_k(self, k: int, threshold: float) -> None:
        assert class_threshold(k) == threshold
        assert distances_of(ranked(1), ranked(8), PETRI_DISH, k=k)[0].threshold == threshold
        assert distances_of(ranked(1), ranked(8), PETRI_DISH, k=k)[0].inconsistent

    @pytest.mark.parametrize(
        ("k", "bins"),
        [(1, ["1", "0"]), (3, ["4", "3-2", "1", "0"]), (6, ["32", "31-16", "15-8", "7-4", "3-2", "1", "0"])],
    )
    def test_the_bins_are_scaled_with_k(self, k: int, bins: list[str]) -> None:
        scores_of_k = [2.0 ** (k - rank) for rank in range(1, k + 1)] + [0.0]
        distances = np.array([abs(a - b) for a in scores_of_k for b in scores_of_k])
        pattern = class_pattern(distances, k)
        assert list(pattern) == bins
        assert sum(pattern.values()) == len(distances)


class TestMetrics:
    """Section V-A: MAD on classifiers, and top-k accuracy, in the place of the class-based distance."""

    A, B = np.array([[0.6, 0.4], [0.9, 0.1]]), np.array([[0.4, 0.6], [0.9, 0.1]])
    LABELS = np.array([0, 0])

    def test_mad_decides_for_a_classifier_where_it_is_asked_for(self) -> None:
        assert [d.name for d in distances_of(self.A, self.B, self.LABELS, metric="mad")] == ["mad", "class"]

    @pytest.mark.parametrize(("threshold", "inconsistent"), [(49.0, True), (50.0, False)])
    def test_the_baseline_decides_by_the_difference_of_accuracies(self, threshold: float, inconsistent: bool) -> None:
        found = distances_of(self.A, self.B, self.LABELS, {"accuracy": threshold}, k=1, metric="accuracy")[0]
        assert (found.name, found.largest, found.inconsistent, dict(found.pattern)) == (
            "accuracy",
            50.0,
            inconsistent,
            {},
        )

    def test_any_difference_of_accuracy_counts_by_default(self) -> None:
        assert distances_of(self.A, self.B, self.LABELS, k=1, metric="accuracy")[0].inconsistent
        assert not distances_of(self.A, self.B, self.LABELS, k=2, metric="accuracy")[0].inconsistent

    def test_the_most_inconsistent_input_is_the_metrics(self) -> None:
        # by class the first input, which turns around; by MAD the second, whose confidence falls to a half
        a, b = np.array([[0.51, 0.49], [0.99, 0.01]]), np.array([[0.49, 0.51], [0.51, 0.49]])
        assert most_inconsistent(a, b, self.LABELS, np.zeros(2)) == 0
        assert most_inconsistent(a, b, self.LABELS, np.zeros(2), metric="mad") == 1


class TestMad:
    def test_zero_over_zero_is_zero(self) -> None:
        exact = np.array([[1.0, 0.0]])
        assert mad_distance(exact, exact, exact).tolist() == [0.0]

    def test_a_deviation_is_the_mean_over_all_values(self) -> None:
        # 1 and 3 are off by 2 on average, 2 and 0 by 1
        distance = mad_distance(np.array([[1.0, 3.0]]), np.array([[2.0, 0.0]]), np.zeros((1, 2)))
        assert distance == pytest.approx([(2.0 - 1.0) / (2.0 + 1.0)])

    def test_labels_of_a_classifier_are_one_hot_vectors(self) -> None:
        by_class, by_mad = distances_of(np.array([[0.9, 0.1]]), np.array([[0.6, 0.4]]), np.array([0]))
        assert (by_class.largest, by_mad.largest) == (0.0, pytest.approx(0.6))

    def test_one_side_exact_is_one(self) -> None:
        truth = np.array([[1.0]])
        assert mad_distance(truth, truth + 0.5, truth).tolist() == [1.0]

    def test_bins_are_half_open_and_the_last_is_closed(self) -> None:
        borders = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
        assert list(mad_pattern(borders).values()) == [1, 1, 1, 1, 2]
        assert list(mad_pattern(np.nextafter(borders[1:-1], 0)).values()) == [1, 1, 1, 1, 0]

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_one_side_not_finite_is_as_far_as_can_be(self, bad: float) -> None:
        truth = np.array([[0.0]])
        assert mad_distance(np.array([[bad]]), np.array([[0.5]]), truth).tolist() == [1.0]
        assert mad_distance(np.array([[0.5]]), np.array([[bad]]), truth).tolist() == [1.0]

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_both_sides_not_finite_is_no_distance(self, bad: float) -> None:
        assert mad_distance(np.array([[bad]]), np.array([[bad]]), np.array([[0.0]])).tolist() == [0.0]


class TestRanks:
    def test_ties_go_to_the_lower_index(self) -> None:
        confidence = np.array([[0.25, 0.25, 0.25, 0.25]] * 4)
        assert rank_of_label(confidence, np.arange(4)).tolist() == [1, 2, 3, 4]

    def test_a_label_without_confidence_ranks_last(self) -> None:
        confidence = np.array([[np.nan, 0.1, 0.2], [np.nan, np.nan, np.nan]])
        assert rank_of_label(confidence, np.array([0, 0])).tolist() == [3, 3]

    def test_nan_elsewhere_does_not_push_the_label_down(self) -> None:
        assert rank_of_label(np.array([[np.nan, 0.9, np.nan]]), np.array([1])).tolist() == [1]

    def test_all_nan_against_a_right_answer_is_far(self) -> None:
        right = ranked(1, label=0)
        assert class_distance(right, np.full_like(right, np.nan), np.array([0])).tolist() == [16.0]


class TestLabels:
    def test_a_single_sigmoid_has_two_classes(self) -> None:
        found = as_classes(np.array([[0.9], [0.2]]))
        assert found is not None
        np.testing.assert_allclose(found, [[0.1, 0.9], [0.8, 0.2]])

    def test_images_are_no_classes(self) -> None:
        assert as_classes(np.zeros((2, 4, 4, 3))) is None

    def test_one_hot_rows_are_class_indices(self) -> None:
        one_hot = np.eye(5)[[4, 0, 2]]
        assert class_labels(one_hot, 5) is not None
        np.testing.assert_array_equal(class_labels(one_hot, 5), [4, 0, 2])

    def test_columns_of_indices_are_class_indices(self) -> None:
        np.testing.assert_array_equal(class_labels(np.array([[1], [0]], np.uint8), 3), [1, 0])

    @pytest.mark.parametrize("labels", [np.array([0.5, 1.5]), np.array([[0.5, 0.5], [1, 0]]), np.ones((2, 2))])
    def test_other_rows_are_a_regression(self, labels: Array) -> None:
        assert class_labels(labels, 2) is None

    def test_fitting_labels_are_accepted(self) -> None:
        output = np.zeros((2, 3))
        for labels in (np.array([0, 2]), np.eye(3)[[0, 2]], np.full((2, 3), 0.5)):
            check_labels("out", labels, output)

    @pytest.mark.parametrize(
        ("labels", "output", "message"),
        [
            (np.zeros(3, int), np.zeros((2, 3)), "'out' has 2 instances, the labels have 3"),
            (np.array([0, 3]), np.zeros((2, 3)), "classes 0 to 3, but output 'out' has 3 classes"),
            (np.array([-1, 0]), np.zeros((2, 3)), "classes -1 to 0"),
            (np.zeros((2, 4)), np.zeros((2, 3)), r"labels of shape \(2, 4\) do not fit output 'out' of shape \(2, 3\)"),
            (np.zeros(2, int), np.zeros((2, 4, 4, 1)), "has no classes"),
        ],
    )
    def test_misfits_say_expected_and_received(self, labels: Array, output: Array, message: str) -> None:
        with pytest.raises(DataError, match=message):
            check_labels("out", labels, output)


class TestSummary:
    def test_a_classifier_has_both_distances(self) -> None:
        a, b = np.vstack([ranked(1), ranked(1)]), np.vstack([ranked(1), ranked(6)])
        by_class, by_mad = distances_of(a, b, np.array([3, 3]))
        assert (by_class.name, by_class.largest, by_class.triggered, by_class.inconsistent) == ("class", 16.0, 1, True)
        assert by_class.pattern["16"] == by_class.pattern["0"] == 1
        assert by_mad.name == "mad"

    def test_a_regression_has_one(self) -> None:
        found = distances_of(np.array([[0.4]]), np.array([[-0.1]]), np.array([[0.0]]))
        assert [distance.name for distance in found] == ["mad"]
        assert found[0].largest == pytest.approx(0.6)

    def test_a_sigmoid_is_ranked_among_two_classes(self) -> None:
        found = distances_of(np.array([[0.9]]), np.array([[0.1]]), np.array([1]))
        assert [(distance.name, distance.largest) for distance in found] == [
            ("class", 8.0),
            ("mad", pytest.approx(0.8)),
        ]

    def test_thresholds_by_name(self) -> None:
        strict, lenient = (
            distances_of(ranked(1), ranked(3), PETRI_DISH, {"class": threshold})[0] for threshold in (13, 12)
        )
        assert not strict.inconsistent
        assert lenient.inconsistent


confidences = arrays.arrays(np.float32, (3, 7), elements=st.floats(0, 1, width=32))
labels = arrays.arrays(np.int64, 3, elements=st.integers(0, 6))


@given(confidences, confidences, labels)
def test_class_distance_is_symmetric_and_in_range(a: Array, b: Array, label: Array) -> None:
    distance = class_distance(a, b, label)
    np.testing.assert_array_equal(distance, class_distance(b, a, label))
    assert ((distance >= 0) & (distance <= 16)).all()
    assert sum(class_pattern(distance).values()) == len(distance)


@given(confidences, labels)
def test_equal_outputs_are_at_no_distance(a: Array, label: Array) -> None:
    assert not class_distance(a, a, label).any()
    assert not mad_distance(a, a, np.eye(7)[label]).any()


@given(confidences, confidences, confidences)
def test_mad_distance_is_symmetric_and_in_range(a: Array, b: Array, truth: Array) -> None:
    distance = mad_distance(a, b, truth)
    np.testing.assert_array_equal(distance, mad_distance(b, a, truth))
    assert ((distance >= 0) & (distance <= 1)).all()
    assert sum(mad_pattern(distance).values()) == len(distance)


@given(confidences, labels)
def test_ranks_of_a_row_are_a_permutation(a: Array, label: Array) -> None:
    ranks = [rank_of_label(a, np.full(3, column))[0] for column in range(7)]
    assert sorted(ranks) == list(range(1, 8))
    assert rank_of_label(a, label)[0] == ranks[label[0]]


class TestBaselineAndGrouping:
    """Top-k accuracy, which the paper compares with, and unique inconsistencies (sections III-B and V-A)."""

    CONFIDENCE = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.4, 0.35, 0.25]])
    LABEL = np.array([0, 1, 1])

    @pytest.mark.parametrize(("k", "expected"), [(1, 1 / 3), (2, 1.0), (3, 1.0)])
    def test_top_k_accuracy(self, k: int, expected: float) -> None:
        assert top_k_accuracy(self.CONFIDENCE, self.LABEL, k) == pytest.approx(expected)

    def test_equal_accuracies_hide_what_the_class_distance_sees(self) -> None:
        # one instance gets better, another worse: the Dog model of the paper
        a = np.array([[0.9, 0.1], [0.9, 0.1]])
        b = a[:, ::-1]
        label = np.array([0, 1])
        assert not accuracy_inconsistent(a, b, label, k=1, threshold=0.0)
        assert class_distance(a, b, label).min() == 8

    def test_any_difference_of_accuracy_fires_at_zero_percent(self) -> None:
        a, b = np.array([[0.9, 0.1]]), np.array([[0.1, 0.9]])
        assert accuracy_inconsistent(a, b, np.array([0]), k=1, threshold=0.0)
        assert not accuracy_inconsistent(a, b, np.array([0]), k=1, threshold=100.0)

    def test_equal_patterns_are_one_unique_inconsistency(self) -> None:
        # Table I: four inconsistencies, two patterns
        first = {"16": 10, "15-8": 202, "7-4": 147, "3-2": 100, "1": 85, "0": 4456}
        second = {"16": 5, "15-8": 132, "7-4": 86, "3-2": 77, "1": 65, "0": 4635}
        rows = [
            ("2.2.2 Xception", first),
            ("2.2.2 NASNet", second),
            ("2.2.1 Xception", first),
            ("2.2.1 NASNet", second),
        ]
        groups = unique_inconsistencies((name, Distance("class", 16, 8, 212, True, pattern)) for name, pattern in rows)
        assert sorted(map(sorted, groups.values())) == [
            ["2.2.1 NASNet", "2.2.2 NASNet"],
            ["2.2.1 Xception", "2.2.2 Xception"],
        ]

    def test_consistent_pairs_are_in_no_group(self) -> None:
        assert unique_inconsistencies([("a", Distance("class", 0, 8, 0, False, {"0": 3}))]) == {}

    def test_the_most_inconsistent_input_has_the_largest_class_distance(self) -> None:
        a = np.array([[0.9, 0.1], [0.6, 0.4], [0.9, 0.1]])
        b = np.array([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]])
        # inputs 1 and 2 both lose their label; the third differs more
        assert most_inconsistent(a, b, np.array([0, 0, 0]), np.array([0.1, 0.2, 0.8])) == 2

    def test_the_most_inconsistent_input_of_a_regression_has_the_largest_mad(self) -> None:
        truth = np.zeros((2, 1))
        a, b = np.array([[0.4], [0.2]]), np.array([[-0.1], [0.21]])
        assert most_inconsistent(a, b, truth, np.array([0.0, 1.0])) == 0
