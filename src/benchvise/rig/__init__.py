"""Boards in a rig: power, card, console, network; described by a labgrid environment file.

Imports run one way: ``hold`` → ``drivers`` → ``strategy`` → ``power``, ``environment`` →
``virtual`` → ``soak`` → ``boot``, ``card`` → ``console``, ``locks`` → ``faults``. Only this package
imports labgrid.
"""
