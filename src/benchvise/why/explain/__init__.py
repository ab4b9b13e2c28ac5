"""Why a proven cause has its effect, and how to make the good value last."""
