"""The program as one object: catalog, tick loop and sessions over one Spark session and one data directory."""
