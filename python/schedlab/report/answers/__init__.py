"""Composers: findings in, the document of an answer out. One module a kind of answer, without arithmetic."""
