"""How a diagnosis experiments: trials in blocks, questions to a board, the search, the proof."""
