"""Card images: reading, changing and making them, without root."""
