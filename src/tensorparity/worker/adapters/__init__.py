"""One module per library family; ``make_adapter(flavour, options)`` is its only required name."""
