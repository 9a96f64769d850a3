"""Step of the action: one comment per pull request, found again by a hidden marker. Python's own library, nothing else.

A run that finds nothing does not begin a conversation: it writes only where there is a comment to bring up to date.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

#: Several uses of the action in one workflow have a comment each.
MARKER = "<!-- tensorparity:{} -->"
MOST_COMMENT = 60_000  # the host takes 65,536 characters


def main() -> None:
    number = _pull_request()
    token = os.environ.get("TENSORPARITY_TOKEN", "")
    report = Path(os.environ["TENSORPARITY_FOLDER"]) / "tensorparity.md"
    if number is None or not token or not report.exists():
        return
    marker = MARKER.format(f"{os.environ.get('GITHUB_JOB', '')}/{os.environ['TENSORPARITY_FOLDER']}")
    api = Api(os.environ["GITHUB_API_URL"], os.environ["GITHUB_REPOSITORY"], token)
    try:
        publish(api, number, marker, f"{marker}\n{report.read_text()[:MOST_COMMENT]}", worth_telling(report))
    except urllib.error.HTTPError as error:  # a fork's token may not write: the summary has the same text
        print(f"::warning::no comment: the host answers {error.code}; the job needs pull-requests: write")


def worth_telling(report: Path) -> bool:
    document = report.with_suffix(".json")
    return not document.exists() or bool(json.loads(document.read_text()).get("findings"))


def publish(api: Api, number: int, marker: str, text: str, begin: bool) -> None:
    """Bring the comment with the marker up to date; begin one only if there is something to tell."""
    known = next((item for item in api.comments(number) if item["body"].startswith(marker)), None)
    if known is not None:
        api.send("PATCH", f"issues/comments/{known['id']}", {"body": text})
    elif begin:
        api.send("POST", f"issues/{number}/comments", {"body": text})


class Api:
    """The few calls of the host's interface that a comment needs."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        self._base = f"{url.rstrip('/')}/repos/{repository}"
        self._token = token

    def comments(self, number: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in range(1, 31):
            part = self.send("GET", f"issues/{number}/comments?per_page=100&page={page}")
            found += part
            if len(part) < 100:
                break
        return found

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/vnd.github+json"}
        request = urllib.request.Request(f"{self._base}/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")


def _pull_request() -> int | None:
    path = os.environ.get("GITHUB_EVENT_PATH", "")
    event = json.loads(Path(path).read_text()) if path and Path(path).exists() else {}
    number = (event.get("pull_request") or {}).get("number")
    return int(number) if number else None


if __name__ == "__main__":
    main()
