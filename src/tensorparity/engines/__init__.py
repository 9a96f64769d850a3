"""The engines: each proposes cases and learns from verdicts; none of them runs anything."""
