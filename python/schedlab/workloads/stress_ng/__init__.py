"""stress-ng: rates of stressors."""
