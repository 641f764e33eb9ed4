"""Demo job: writes all flights of New York 2013 to a topic, reads them back, and compares."""
