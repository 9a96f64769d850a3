"""What a library offers: its public functions, and valid inputs of them, both read out of what is installed."""
