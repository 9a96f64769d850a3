"""The HTML report: complete, self-contained, harmless; and alive in a real browser, where there is one."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from tensorparity.core.comparison import LayerDeviation
from tensorparity.core.jsontext import Json
from tensorparity.core.verdict import Kind
from tensorparity.reporting import html
from tensorparity.reporting.facts import Facts, TargetFacts

Sample = Callable[[str], Facts]


class _Page(HTMLParser):
    """What a browser would see: elements with their attributes, scripts, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts.append(data)
        else:
            self.text += data

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]


def test_every_page_holds_its_document_and_one_script(any_facts: Facts) -> None:
    page = _Page(html.render(any_facts))
    document, script = page.scripts
    assert json.loads(document)["command"] == any_facts.command
    assert script.startswith("(function")
    assert len(page.ids()) == len(set(page.ids()))


def test_nothing_comes_from_elsewhere(any_facts: Facts) -> None:
    beside = {quote(path) for finding in any_facts.findings for path in (finding.case, finding.reproducer) if path}
    for tag, attributes in _Page(html.render(any_facts)).elements:
        assert tag not in {"link", "img", "iframe", "object", "base"}
        assert "src" not in attributes
        link = attributes.get("href") or "#"
        assert link.startswith("#") or link in beside, "within the page, or to a file of the store beside it"
        assert ":" not in link


def test_links_lead_somewhere(any_facts: Facts) -> None:
    page = _Page(html.render(any_facts))
    links = [attributes["href"] or "" for _, attributes in page.elements if "href" in attributes]
    wanted = {link[1:] for link in links if link.startswith("#")}  # the others lead to files of the store
    assert wanted <= set(page.ids())


def test_names_and_messages_are_harmless(sample: Sample) -> None:
    text = html.render(sample("hostile"))
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert "\u2028" not in text
    assert not any(name.startswith("on") for _, attributes in _Page(text).elements for name in attributes)


def test_an_attribute_cannot_be_left(sample: Sample) -> None:
    layer = LayerDeviation('" onclick="alert(1)', 0, "'><b>", 1.0, 1.0, False, 1.0)
    facts = sample("all_pass")
    assert facts.comparisons is not None
    text = html.render(replace(facts, comparisons=(replace(facts.comparisons[0], layers=(layer,)),)))
    assert not any("onclick" in attributes for _, attributes in _Page(text).elements)


def test_script_json_escapes_and_comes_back() -> None:
    value: Json = {"</script><!--": "&\u2028\u2029>", "x": math.nan}
    text = html.script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script><!--": "&\u2028\u2029>", "x": "NaN"}


def test_the_policy_admits_only_the_own_script(sample: Sample) -> None:
    text = html.render(sample("all_pass"))
    assert re.search(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[A-Za-z0-9+/=]{44}'", text)


def test_a_lone_surrogate_can_be_written() -> None:
    assert html.render(Facts("targets", 0, (TargetFacts("a\ud800"),), {})).encode("utf-8").startswith(b"<!")


def test_headline_first_and_the_rest_present(sample: Sample) -> None:
    text = _Page(html.render(sample("one_defect"))).text
    parts = [
        "keras:torch differs: layer conv2d_4 (Conv2D) is wrong there; the others agree.",
        "Pairs", "✗ 0.71", "Findings", "padding='same', strides=2", "Comparisons", "reached by 212 inputs", "15-8",
        "(mark: K = 30)", "conv2d_4", "How this was run", "TF_ENABLE_ONEDNN_OPTS=0", "localize 3.1 s",
    ]  # fmt: skip
    positions = [text.index(part) for part in parts]
    assert positions[:3] == sorted(positions[:3])
    assert text.index("Pairs") < text.index("Findings") < text.index("Comparisons") < text.index("How this was run")


def test_the_guilty_layer_stands_out(sample: Sample) -> None:
    page = _Page(html.render(sample("one_defect")))
    rows = [attributes for tag, attributes in page.elements if tag == "tr" and "data-layer" in attributes]
    assert len(rows) == 27
    assert [row["data-layer"] for row in rows if row["class"] == "excessive"] == ["4", "4"]


def test_an_isolated_error_that_is_no_number_is_excessive(sample: Sample) -> None:
    facts = sample("all_pass")
    assert facts.comparisons is not None
    layer = LayerDeviation("x", 0, "Dense", None, None, False, math.nan)
    text = html.render(replace(facts, comparisons=(replace(facts.comparisons[0], layers=(layer,)),)))
    assert '<tr class="excessive"' in text


# --- in a browser -------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on PATH")


def _browse(page: str, folder: Path, *options: str, fragment: str = "") -> str:
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", *options, file.as_uri() + fragment]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode("utf-8", "replace")


@needs_browser
@pytest.mark.parametrize("name", ["one_defect", "many_layers", "hunt_findings", "trained", "hostile"])
def test_the_page_comes_alive(sample: Sample, tmp_path: Path, name: str) -> None:
    dom = _browse(html.render(sample(name)), tmp_path, "--dump-dom")
    assert 'data-ready="true"' in dom
    assert "headline" in dom
    if name == "one_defect":
        assert "keras:torch differs: layer conv2d_4 (Conv2D) is wrong there; the others agree." in dom


@needs_browser
def test_a_screenshot_can_be_taken(sample: Sample, tmp_path: Path) -> None:
    picture = tmp_path / "report.png"
    _browse(html.render(sample("one_defect")), tmp_path, "--window-size=1280,900", f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG")


@needs_browser
def test_a_link_to_a_layer_opens_its_details(sample: Sample, tmp_path: Path) -> None:
    dom = _browse(html.render(sample("many_layers")), tmp_path, "--dump-dom", fragment="#layer-2-4")
    assert "number 5 of 300" in dom
    assert 'href="#finding-0"' in dom


@needs_browser
def test_searching_and_clicking(sample: Sample, tmp_path: Path) -> None:
    deeds = """<script>
      const box = document.querySelector('[data-filters="layers-1"] input[type=search]');
      box.value = "Conv2D";
      box.dispatchEvent(new Event("input", {bubbles: true}));
      document.querySelector("#layer-1-8 button").click();
    </script>"""
    page = re.sub(r"<meta http-equiv=[^>]*>", "", html.render(sample("one_defect"))).replace(
        "</body>", f"{deeds}</body>"
    )
    dom = _browse(page, tmp_path, "--dump-dom")
    assert ">3 of 9</output>" in dom
    assert "Layer conv2d_8, call 0, type Conv2D: number 9 of 9." in dom


@needs_browser
def test_an_injected_script_would_not_run(sample: Sample, tmp_path: Path) -> None:
    injected = "<script>document.documentElement.dataset.taken = 'true'</script></body>"
    dom = _browse(html.render(sample("one_defect")).replace("</body>", injected), tmp_path, "--dump-dom")
    assert 'data-ready="true"' in dom
    assert 'data-taken="true"' not in dom


def test_the_first_card_is_open_and_links_to_its_files(sample: Sample) -> None:
    text = html.render(sample("one_defect"))
    cards = re.findall(r'<details class="card finding[^>]*>', text)
    assert [card.endswith(" open>") for card in cards] == [True] + [False] * (len(cards) - 1)


def many(facts: Facts, count: int) -> Facts:
    first = facts.findings[0]
    kinds = [Kind.CRASH, Kind.NAN, Kind.INCONSISTENCY]
    findings = tuple(
        replace(
            first,
            id=f"muffin-{place:05}",
            kind=kinds[place % 3],
            signature=f"signature {place}",
            diagnosis=replace(first.diagnosis, api=f"keras.layers.Layer{place % 50}"),
        )
        for place in range(count)
    )
    return replace(facts, findings=findings, comparisons=None)


@needs_browser
@pytest.mark.parametrize("count", [12, 500, 5000])
def test_thousands_of_findings_open_at_once_and_are_found(sample: Sample, tmp_path: Path, count: int) -> None:
    page = html.render(many(sample("one_defect"), count))
    assert len(page) < 2_000_000
    asking = """<script>
      const wait = setInterval(() => {
        if (document.documentElement.dataset.ready !== "true") return;
        clearInterval(wait);
        const root = document.documentElement, box = document.querySelector("#finding-tools input[type=search]");
        root.dataset.seconds = String(performance.now() / 1000);
        root.dataset.drawn = String(document.querySelectorAll("#findings > .finding").length);
        box.value = "WANTED";
        box.dispatchEvent(new Event("input", { bubbles: true }));
        root.dataset.found = String(document.querySelectorAll("#findings > .finding").length);
        root.dataset.told = document.querySelector("#finding-tools output").textContent;
      }, 5);
    </script></body>""".replace("WANTED", f"muffin-{count - 1:05}")
    unfenced = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    dom = _browse(unfenced.replace("</body>", asking), tmp_path, "--dump-dom", "--virtual-time-budget=20000")
    told = dict(re.findall(r'data-(seconds|drawn|found|told)="([^"]*)"', dom.partition(">")[2][:2000] or dom))
    assert told["drawn"] == str(min(count, 100))
    assert (told["found"], told["told"]) == ("1", f"1 of {count:,}")
