"""Reading: plans batches and streams on the driver, and turns ranges of offsets into columns in tasks."""
