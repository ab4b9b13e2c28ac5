"""A bare-metal program whose harts start in a race, under QEMU: a hang to be caught by a soak."""
