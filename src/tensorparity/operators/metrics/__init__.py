"""The metrics of the catalogue: what each of them says of labels and predictions, in float64."""
