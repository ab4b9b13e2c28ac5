"""Hostile runs: queries made by a grammar and damaged files, against a product that must live.

    queries    SQL by a grammar, by seed
    damage     what damages the content of a file, by seed
    seeds      whole files of each format
    memory     what a process and all below it have of their own
    workbench  ``benchvise serve``, asked; what it says is judged
    commands   what only commands read: one process each, judged by status and standard error
    outcomes   the table of what came out

Each answer has to be one, or a sentence; at the end the server has to be the process that it was,
and no process of it may have had more memory than is its own.
"""
