"""Judging a whole model, step by step: ``oracles/output_pair`` puts the steps together."""
