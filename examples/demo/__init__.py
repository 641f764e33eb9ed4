"""Demo: a program that writes all flights of New York 2013 to a topic with Spark, reads them back, and compares."""
