"""From a query's text to a typed plan, and from a plan to its batch meaning in Spark."""
