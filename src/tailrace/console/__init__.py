"""What people and monitors look at in a browser: health, metrics, and one page of live status."""
