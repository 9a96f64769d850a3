"""A plug-in of TensorParity with one of each kind; see the README beside it."""
