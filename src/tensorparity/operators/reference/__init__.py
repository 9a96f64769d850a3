"""References: values in float64, how rounding grows, derivatives, penalties and constraints."""
