"""Workload adapters: one benchmark a file, each with typed parameters, a command and a parser."""
