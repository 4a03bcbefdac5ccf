"""Targets: where trials run. They put variants in place and run workloads, and know nothing of statistics."""
