"""Operators: what each public function means, once, and how each library is asked for it."""
