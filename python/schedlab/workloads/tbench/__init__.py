"""tbench of the dbench package: traffic of a file server over TCP."""
