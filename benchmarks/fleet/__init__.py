"""A lab of many boards on one machine: what ``benchvise run rig:all`` takes of time and memory.

field       a labgrid coordinator, four exporters, and boards: addresses of sshd on loopback
census      the processes of the runner, their memory and number, and CPU time of the boards
status      what ``benchvise rig status`` takes, of all processes that it starts
interruption  what Ctrl-C leaves: processes, places, samples
__main__    runs it with 1, 10, 50, 200 boards, healthy and dying, and prints the table
"""
