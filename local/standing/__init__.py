"""Standing queries carried out in this process: partials of a batch, folds into answers, the archives of both."""
