"""What a kept program carries from run to run: seeds, states of recurrent layers, moving statistics."""

import numpy as np


def silence_random_layers(program):
    """Dropout and noise draw other numbers on every backend; off, training can be compared."""
    for layer in program.layers.values():
        for name in ("rate", "stddev"):
            if isinstance(getattr(layer, name, None), float) and hasattr(layer, "seed_generator"):
                setattr(layer, name, 0.0)


def reset_states(program):
    """Let stateful layers start anew: what an earlier job left in a kept program is none of this one's.

    Not by ``reset_state``, which a stack of cells does not survive.
    """
    import keras

    for part in _parts(program):
        states = getattr(part, "states", None) if getattr(part, "stateful", False) else None
        for state in keras.tree.flatten(states) if states is not None else ():
            state.assign(np.zeros(state.shape, "float32"))


def _parts(program):
    """Return the program's layers and the layers inside them, each once."""
    found = {}
    for layer in program.layers.values():
        for part in layer._flatten_layers() if hasattr(layer, "_flatten_layers") else ():
            found[id(part)] = part
    return list(found.values())


def moving_variables(program):
    """Return the variables that no optimizer moves, but a run may; frozen weights are not among them."""
    found = {}
    for part in _parts(program):
        for variable in part._non_trainable_variables:
            found[id(variable)] = variable
    return list(found.values())


def set_seeds(program, seed):
    """Set every seed generator to its own seed or, where the model names none, to one of the job's."""
    generators = [generator for part in _parts(program) for generator in getattr(part, "_seed_generators", ())]
    for index, generator in enumerate(generators):
        own = getattr(generator, "_initial_seed", None)
        start = own if own is not None else (seed + index) % 2**31
        generator.state.assign(np.array([start, 0]))
