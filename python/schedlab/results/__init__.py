"""Figures and their description: metrics, the measurement of a trial, imported tables, kinds of figures."""
