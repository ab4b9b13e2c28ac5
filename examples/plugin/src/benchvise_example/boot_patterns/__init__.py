"""What the consoles of the lab's boards say."""
