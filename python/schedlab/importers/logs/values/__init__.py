"""Values in columns, as CSV or one number a line, that no tool's own format is known for.

grid (cells) ──roles──▶ what each column is ──▶ summary | tidy | wide ──▶ Reading
"""
