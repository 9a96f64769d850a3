"""The catalogue: what each layer and operator means, said once, with no library imported."""
