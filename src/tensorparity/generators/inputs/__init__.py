"""Inputs and labels: of users' files, or drawn by seed."""
