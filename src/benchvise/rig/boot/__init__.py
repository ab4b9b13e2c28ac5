"""How a board boots: a timeline of phases and a verdict, from what its console says."""
