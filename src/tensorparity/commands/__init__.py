"""One file per command: settings in, facts out."""
