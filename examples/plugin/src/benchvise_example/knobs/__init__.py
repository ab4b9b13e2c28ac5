"""Settings of the lab's boards, and the state that they belong to."""
