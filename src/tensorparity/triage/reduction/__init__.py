"""From a case that fails to the simplest case that fails in the same way."""
