"""Connect's data in Spark: schemas as StructTypes and back, and topics of the JsonConverter as columns."""
