"""Tables: CSV and Parquet files, what their columns hold, and the classes in one of them."""
