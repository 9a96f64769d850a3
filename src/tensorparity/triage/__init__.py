"""From a failing verdict to a finding: localize, diagnose, confirm, sign."""
