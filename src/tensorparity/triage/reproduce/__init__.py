"""From a reduced case to a script that anybody can run, and to the draft of a report."""
