"""Five published reports: their figures, the experiments that simulate them, and scores of the predictions."""
