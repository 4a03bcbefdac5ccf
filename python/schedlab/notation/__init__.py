"""Texts with one grammar everywhere: quantities with units, and CPU lists."""
