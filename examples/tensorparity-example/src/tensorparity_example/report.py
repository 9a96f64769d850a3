"""The report format ``csv``: one line per finding."""

from __future__ import annotations

import csv
import io

from tensorparity.plugin import Facts


class CsvReport:
    """Facts in, a table out; it decides nothing."""

    def render(self, facts: Facts) -> str:
        page = io.StringIO()
        table = csv.writer(page)
        table.writerow(["id", "class", "kind", "api", "suspects"])
        for finding in facts.findings:
            diagnosis = finding.diagnosis
            row = [finding.id, diagnosis.klass.value, finding.kind.value, diagnosis.api, " ".join(diagnosis.suspects)]
            table.writerow(row)
        return page.getvalue()
