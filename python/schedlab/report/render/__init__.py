"""Formats of an answer: each module has ``render``, which renders the document and computes nothing."""
