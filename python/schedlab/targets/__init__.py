"""Targets: where trials run. Targets put variants in place and run workloads. Targets contain no statistics."""
