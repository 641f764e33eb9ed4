"""DataFrames: columns of messages to typed columns and back, as frames or as functions of a column."""
