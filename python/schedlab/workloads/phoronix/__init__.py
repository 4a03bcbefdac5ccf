"""Results of the Phoronix Test Suite."""
