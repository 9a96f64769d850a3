"""The vocabulary: Case, Outcome, Verdict, Finding and what they are made of.

Plain frozen dataclasses that serialise to JSON plus arrays. Nothing here runs anything, and nothing
here imports another part of TensorParity.
"""
