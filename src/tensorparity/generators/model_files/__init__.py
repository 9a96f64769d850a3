"""Files of strangers, inspected before anything loads them: models and cases."""
