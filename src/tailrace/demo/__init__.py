"""The demo: pageviews stream in, a view follows them, the engine is killed, and an independent reader counts."""
