"""How a board boots: recorded, told in phases, and judged from what its console says."""
