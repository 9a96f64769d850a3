"""One self-contained HTML file: no network, no foreign script, harmless whatever a layer is called.

Three fences keep names and messages from becoming code: autoescaping in the templates, escapes in the
embedded document, and a content security policy that admits the page's own script by its hash.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..core import jsontext
from ..core.comparison import Comparison, Distance, LayerDeviation
from ..core.finding import Class, Finding
from ..core.jsontext import Json
from ..core.verdict import Judgement
from . import training as trainings
from . import wording, words
from .closeups import view as closeup_view
from .facts import Facts
from .fuzz_tables import view as fuzz_view
from .localization import page_document
from .mutate_tables import view as mutate_view
from .plain_tables import grids as engine_grids
from .precision import view as precision_view
from .standing import DEFECT, MEANINGS, counted, reason_of_acceptance, standings
from .summary import by_class, by_urgency, node_name, place, summarize

_SCRIPT_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SCRIPTS = ("common", "map_colours", "map_paint", "map_sheet", "map", "closeups", "findings", "report")
#: So many findings are part of the page as it opens; the others are unpacked and drawn when they are looked at.
_FIRST_CARDS = 40
#: What the map and the links need of a finding.
_LINKED = ("id", "class", "node", "suspects")
_MOST_STEPS = 12
_GLYPHS = {Judgement.PASS: "✓", Judgement.FAIL: "✗", Judgement.UNDECIDED: "?"}


def render(facts: Facts) -> str:
    """The report as one page that can be written in UTF-8 and opened from a file."""
    environment = _environment()
    source = _script()
    findings, badges = _findings(facts), _badges(facts)
    page = environment.get_template("report.html").render(
        facts=facts,
        summary=summarize(facts),
        matrix=_matrix(facts.comparisons or ()),
        comparisons=_views(facts),
        findings=findings[:_FIRST_CARDS],
        all_findings=len(findings),
        more=_packed(_cards(environment, facts, findings[_FIRST_CARDS:], badges)),
        precision=precision_view(facts.precision) if facts.precision else None,
        fuzz=fuzz_view(facts),
        mutate=mutate_view(facts),
        engine_tables=engine_grids(facts),
        classes=counted(facts),
        badges=badges,
        training=_training_charts(facts),
        place=lambda finding: place(finding, facts.comparisons),
        document=script_json(_embedded(facts)),
        script=Markup(source),
        script_hash=base64.b64encode(hashlib.sha256(source.encode()).digest()).decode(),
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def _embedded(facts: Facts) -> dict[str, Json]:
    """The document in the page; of many findings only what the map and the links need."""
    document = page_document(facts.document(), facts.comparisons or ())
    if len(facts.findings) > _FIRST_CARDS:
        document["findings"] = [{name: entry[name] for name in _LINKED} for entry in document["findings"]]
    return document


def _cards(
    environment: Environment, facts: Facts, findings: Sequence[tuple[int, Finding]], badges: Mapping[str, _Badge]
) -> list[list[str]]:
    """The cards that are drawn when they are looked at: what a filter asks for, and the markup."""
    draw = environment.get_template("parts.html").module.finding  # type: ignore[attr-defined]
    found = []
    for index, finding in findings:
        where = place(finding, facts.comparisons)
        texts = (facts.scripts.get(finding.id), facts.drafts.get(finding.id))
        markup = draw(finding, index, where, badges[finding.id], *texts)
        found.append([str(markup), *_filtered_by(finding), searched_text(finding, where)])
    return found


def _filtered_by(finding: Finding) -> list[str]:
    diagnosis = finding.diagnosis
    return [diagnosis.api or "", " ".join(diagnosis.suspects), finding.kind.value]


def searched_text(finding: Finding, where: str) -> str:
    """What the search box of the findings looks at."""
    diagnosis = finding.diagnosis
    words_of = [finding.id, finding.engine, finding.kind.value, finding.stage.value, diagnosis.klass.value, where]
    return " ".join([*words_of, diagnosis.api or "", " ".join(diagnosis.suspects), finding.signature])


def _packed(cards: Sequence[Sequence[str]]) -> str:
    """Compressed and in letters, so that thousands of cards are small until somebody wants them; empty for none."""
    if not cards:
        return ""
    text = jsontext.document([list(card) for card in cards], indent=None)
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()


def _training_charts(facts: Facts) -> dict[str, object] | None:
    """What is drawn of the trainings."""
    if facts.training is None:
        return None
    return {
        "headline": trainings.headline(facts.training),
        "charts": trainings.charts(facts.training),
        "rows": trainings.step_rows(facts.training, _MOST_STEPS),
        "layers": trainings.by_drift(facts.training),
    }


def _script() -> str:
    """The parts of the page's script in one function, so that they share names with nobody else."""
    folder = resources.files(__package__).joinpath("templates")
    parts = [folder.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return "\n".join(["(function () {", '"use strict";', *parts, "})();\n"])


def script_json(value: Json) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or start another."""
    text = jsontext.document(value, indent=None)
    return Markup("".join(_SCRIPT_ESCAPES.get(char, char) for char in text))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tensorparity.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=lambda value: wording.number(value, missing="–"),
        loss=lambda value: wording.number(value, missing="–", digits=5),
        share=lambda value: wording.share(value, missing="–"),
        seconds=wording.seconds,
        names=wording.names,
        parameters=wording.parameters,
        node_name=node_name,
        visible=wording.visible,
        one_line=wording.one_line,
        count=wording.count,
        lines=lambda text: "\n".join(wording.visible(line) for line in text.split("\n")),
        title=_sentence,
        sentences=words.sentences,
        in_short=words.in_short,
        searched=searched_text,
        closeup=closeup_view,
    )
    return environment


def _findings(facts: Facts) -> list[tuple[int, Finding]]:
    """In a reader's order, each with its position in the embedded document."""
    numbers = _numbers(facts.findings)
    return [(numbers[id(finding)], finding) for finding in by_class(facts.findings)]


def _sentence(finding: Finding) -> str:
    """The title as a sentence begins; a name is left as it is spelled."""
    title = words.title(finding)
    return title if "." in title.partition(" ")[0] else title[:1].upper() + title[1:]


@dataclass(frozen=True, slots=True)
class _Badge:
    """Where a finding stands, on its card.

    Args:
        reason: why it is accepted; empty for what is not.
    """

    name: str
    meaning: str
    tone: str
    reason: str


def _badges(facts: Facts) -> dict[str, _Badge]:
    """By the id of the finding."""
    stands = standings(facts)
    reasons = {finding.id: reason_of_acceptance(facts, finding) for finding in facts.findings}
    return {key: _Badge(name, MEANINGS[name], _tone(name), reasons[key]) for key, name in stands.items()}


def _tone(name: str) -> str:
    return "fail" if name == DEFECT else ("undecided" if name == Class.FLAKY.value else "plain")


# --- the matrix of pairs ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cell:
    """The most urgent comparison of a pair, and the number of its section."""

    index: int
    tone: str
    glyph: str
    largest: float | None


@dataclass(frozen=True, slots=True)
class _Matrix:
    names: Sequence[str]
    rows: Sequence[tuple[str, Sequence[_Cell | None]]]


def _matrix(comparisons: Sequence[Comparison]) -> _Matrix:
    names = list(dict.fromkeys(name for pair in comparisons for name in (pair.a, pair.b)))
    cells: dict[frozenset[str], _Cell] = {}
    numbers = _numbers(comparisons)
    for pair in by_urgency(comparisons):
        judgement = pair.verdict.judgement
        cell = _Cell(numbers[id(pair)], judgement.value, _GLYPHS[judgement], pair.max_abs)
        cells.setdefault(frozenset((pair.a, pair.b)), cell)
    rows = [(row, [cells.get(frozenset((row, column))) for column in names]) for row in names]
    return _Matrix(names, rows)


# --- one comparison -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """A logarithmic axis over whole decades, on which a value is a share from 0 to 100."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float | None]) -> _Scale:
        exponents = [math.log10(value) for value in values if value is not None and 0 < value < math.inf]
        low, high = (math.floor(min(exponents)), math.ceil(max(exponents))) if exponents else (0, 1)
        return cls(low, max(high, low + 1))

    def position(self, value: float | None) -> float | None:
        """None where there is no value; a value that is not a number fills the axis, as the worst there is."""
        if value is None:
            return None
        if not math.isfinite(value):
            return 100.0
        if value <= 0:
            return 0.0
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


@dataclass(frozen=True, slots=True)
class _LayerView:
    layer: LayerDeviation
    deviation: float | None
    """Where the deviation lies on its axis; likewise ``error``."""
    error: float | None
    excessive: bool

    @property
    def suspicious(self) -> bool:
        return self.excessive or self.layer.highlighted

    @property
    def tone(self) -> str:
        return "excessive" if self.excessive else ("highlighted" if self.layer.highlighted else "quiet")


@dataclass(frozen=True, slots=True)
class _Bin:
    name: str
    inputs: int
    height: float


@dataclass(frozen=True, slots=True)
class _ComparisonView:
    """A comparison with everything that is drawn of it already measured."""

    index: int
    pair: Comparison
    open: bool
    glyph: str
    distances: Sequence[tuple[Distance, Sequence[_Bin]]]
    layers: Sequence[_LayerView]
    threshold: float | None
    threshold_position: float | None

    @classmethod
    def of(cls, pair: Comparison, index: int, facts: Facts, *, unfolded: bool) -> _ComparisonView:
        limit = facts.isolated_threshold
        errors = _Scale.over([limit, *(layer.isolated_error for layer in pair.layers)])
        deviations = _Scale.over(layer.deviation for layer in pair.layers)
        return cls(
            index,
            pair,
            unfolded,
            _GLYPHS[pair.verdict.judgement],
            [(distance, _bins(distance)) for distance in pair.distances],
            [_layer(layer, limit, errors, deviations) for layer in pair.layers],
            limit,
            errors.position(limit),
        )

    @property
    def suspicious(self) -> int:
        return sum(layer.suspicious for layer in self.layers)


def _views(facts: Facts) -> list[_ComparisonView]:
    """The most urgent first; only a failing one at the very top is unfolded, or a page of many pairs has no end."""
    numbers = _numbers(facts.comparisons or ())
    return [
        _ComparisonView.of(pair, numbers[id(pair)], facts, unfolded=position == 0 and pair.verdict.failed)
        for position, pair in enumerate(by_urgency(facts.comparisons or ()))
    ]


def _numbers(items: Iterable[object]) -> dict[int, int]:
    """The position of each in the embedded document, by identity: two that are equal are still two."""
    return {id(item): index for index, item in enumerate(items)}


def _layer(layer: LayerDeviation, limit: float | None, errors: _Scale, deviations: _Scale) -> _LayerView:
    error = layer.isolated_error
    return _LayerView(
        layer,
        deviations.position(layer.deviation),
        errors.position(error),
        # "not below" rather than "above", so that NaN counts.
        excessive=error is not None and limit is not None and not error <= limit,
    )


def _bins(distance: Distance) -> list[_Bin]:
    """Heights on a logarithmic axis: the bin of the equal ones would dwarf all others."""
    most = max(distance.pattern.values(), default=0)
    return [
        _Bin(name, inputs, round(100 * math.log1p(inputs) / math.log1p(most), 1) if most else 0.0)
        for name, inputs in distance.pattern.items()
    ]
