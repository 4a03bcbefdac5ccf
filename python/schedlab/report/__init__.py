"""Reports: they show what the analysis found, and compute nothing."""
