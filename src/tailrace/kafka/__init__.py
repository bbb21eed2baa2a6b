"""What sources and sinks both need to know of Kafka: connections, clients, offsets."""
