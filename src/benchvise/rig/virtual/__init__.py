"""The virtual bench: simulated boards behind the endpoints that a real bench has.

standard_bench     what ``benchvise rig virtual`` does with the usual boards
bench              starts, queries and stops a bench; its labgrid environment file
daemon  endpoints  the process of a bench, and its small HTTP server
messages           what the daemon writes and answers, typed
boards             a board: relay, SD mux, card, console and machine, joined
machine            one QEMU process
consoles           the serial console: a TCP port that outlives power cycles
cards              the SD mux, and the card in it
injectable         the faults that can be ordered
kinds              the kinds of boards, each with its QEMU command line
recipes            how the card image of each kind is built, from Debian packages
usbsdmux  drivers  what labgrid drives the mux and the card with
harts              a bare-metal program whose harts start in a race
"""
