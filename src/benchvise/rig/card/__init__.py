"""Cards: the mux that turns one, images, and writing an image to a card."""
