"""pgbench of PostgreSQL."""
