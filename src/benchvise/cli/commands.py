"""The table of commands: what help lists, and where each command is.

``benchvise --help`` and the help of groups are made of this table alone: importing the commands
would take longer than most of them take to run. The first line of a command's docstring is its
summary here; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its one line of help.

    ``source`` is the module below ``benchvise.cli`` and, behind a dot, what it has there: the
    command's function, or a typer.Typer with a command of that name.
    """

    name: str
    summary: str
    source: str


@dataclass(frozen=True, slots=True)
class Group:
    """Commands below one name."""

    name: str
    summary: str
    entries: tuple[Command | Group, ...]


PROGRAM = Group(
    "benchvise",
    "Hold a board still, measure it, and find out why.",
    (
        Command("doctor", "Say what is here, what is missing, and how to get it.", "doctor.doctor"),
        Command("run", "Measure boards and keep the results.", "measure.run"),
        Command(
            "restore",
            "Put back what a run that was killed, or lost its board, has left set.",
            "restore.restore",
        ),
        Command("runs", "List the runs in the store, newest first.", "results.runs"),
        Command(
            "show",
            "Show a run: every series with its median, interval and what to know about it.",
            "results.show",
        ),
        Command("tag", "Give a run tags to find it by: benchvise runs --tag TAG.", "results.tag"),
        Command(
            "note", "Write a note to a run, in the place of the one that it had.", "results.note"
        ),
        Command(
            "compare",
            "Compare two runs: what changed, by how much, and whether that is more than noise.",
            "results.compare",
        ),
        Command(
            "report",
            "Write one self-contained page about one or more runs, to look at or to mail.",
            "results.report",
        ),
        Command("why", "Find out why two boards differ, and prove it.", "why.why"),
        Command(
            "watch",
            "Look at boards again and again: what counts up, what the kernel logs, what sensors "
            "read.",
            "watch.watch",
        ),
        Command(
            "snapshot",
            "Record what a board is set to and made of, without changing anything.",
            "state.snapshot",
        ),
        Command("diff", "Say in which settings two snapshots differ.", "state.diff"),
        Command(
            "health",
            "Say how well a board is: kernel log, disks, network, memory, sensors, clocks.",
            "health.health",
        ),
        Command(
            "serve",
            "The workbench in the browser: boards, runs, diagnoses, traces; until Ctrl-C.",
            "serve.serve",
        ),
        Group(
            "bench",
            "What can be measured.",
            (
                Command("list", "List the benchmarks.", "bench.list_benchmarks"),
                Command(
                    "show",
                    "Say what a benchmark measures, how, what it does not, and which peer to "
                    "compare with.",
                    "bench.show_benchmark",
                ),
            ),
        ),
        Group(
            "rig",
            "Hold boards: power, card, console, boot; and boards that are simulated.",
            (
                Command(
                    "soak",
                    "Boot a board many times from cold, and say how often it fails, where, and "
                    "how long it takes.",
                    "rig_soak.soak",
                ),
                Command(
                    "compose",
                    "Make an image out of layers of others, to find the layer that makes the "
                    "difference.",
                    "rig_compose.compose",
                ),
                Command(
                    "status",
                    "Say which boards there are, which have power, where their cards are, and "
                    "who holds them.",
                    "rig.status",
                ),
                Command(
                    "power",
                    "Switch boards on or off by name; each change is read back.",
                    "rig.power",
                ),
                Command(
                    "mux",
                    "Turn a card to this machine or to its board; never while the board has power.",
                    "rig.mux",
                ),
                Command(
                    "flash",
                    "Write an image to cards while the boards are off, read it back, and compare.",
                    "rig.flash",
                ),
                Command(
                    "boot",
                    "Boot boards from off to a shell, and show how long each phase took.",
                    "rig.boot",
                ),
                Command(
                    "console",
                    "Speak with a board on its serial console; Ctrl-] leaves. What is said is "
                    "kept.",
                    "rig.console",
                ),
                Group(
                    "virtual",
                    "Boards that QEMU simulates, behind the same endpoints as real ones.",
                    (
                        Command(
                            "up",
                            "Start the virtual bench: power by HTTP, consoles by TCP, cards "
                            "behind a mux.",
                            "rig_virtual.up",
                        ),
                        Command(
                            "status",
                            "Say which simulated boards there are and what they do.",
                            "rig_virtual.status",
                        ),
                        Command(
                            "down",
                            "Switch all simulated boards off and end the bench; the cards are "
                            "kept.",
                            "rig_virtual.down",
                        ),
                        Command(
                            "fault",
                            "Have a simulated board, or what it hangs on, do something wrong.",
                            "rig_virtual.fault",
                        ),
                        Command(
                            "image",
                            "Print the path of a card image for a simulated board; it is built "
                            "when it is not there.",
                            "rig_virtual.image",
                        ),
                    ),
                ),
            ),
        ),
        Group(
            "trace",
            "Kernel traces: what they hold, and what it means.",
            (
                Command(
                    "info",
                    "Say what a trace holds: format, clock, streams, events, losses, damage.",
                    "trace.app",
                ),
                Command(
                    "query",
                    "Ask a trace by SQL; every event type is a table, and so is every analysis.",
                    "trace.app",
                ),
                Command(
                    "record",
                    "Record what a board's kernel does, for a time or while a command runs there.",
                    "trace.app",
                ),
                Command(
                    "stats",
                    "Say what took the CPUs: shares of tasks, interrupts, softirqs, idle; "
                    "switches; losses.",
                    "trace.app",
                ),
                Command(
                    "actors",
                    "Say how long instances of threads and handlers took, how late and how "
                    "regular they were.",
                    "trace.app",
                ),
                Command(
                    "load",
                    "Draw the CPU load over time: of all CPUs, of each, of each actor.",
                    "trace.app",
                ),
                Command(
                    "switches",
                    "Draw how many context switches a second there were over time: in all, by "
                    "CPU, by actor.",
                    "trace.app",
                ),
                Command(
                    "latency",
                    "Measure from one point to another over all occurrences, stage by stage.",
                    "trace.app",
                ),
                Command(
                    "sched",
                    "Say what the scheduler did: waits for a CPU, time slices, preemptions, "
                    "migrations.",
                    "trace.app",
                ),
                Command(
                    "wakeups",
                    "Say who wakes whom, and how long the woken wait until they run.",
                    "trace.app",
                ),
                Command(
                    "syscalls",
                    "Say how long system calls took, by call and by who made them.",
                    "trace.app",
                ),
                Command(
                    "block",
                    "Say how long requests to block devices waited in the queue and in the device.",
                    "trace.app",
                ),
                Command(
                    "timers",
                    "Say how late timers ran, how long their functions took, and how long CPUs "
                    "had no tick.",
                    "trace.app",
                ),
                Command(
                    "compare",
                    "Compare two traces, of two boards or two kernels, actor by actor, matched "
                    "by name.",
                    "trace.app",
                ),
                Command("export", "Write a trace for another program.", "trace.app"),
            ),
        ),
        Group(
            "signal",
            "Captures: electrical signals, and what they say of a board.",
            (
                Command(
                    "info",
                    "Say what a capture holds: its lines, their edges, the clock.",
                    "signal.app",
                ),
                Command(
                    "response",
                    "Say how fast a board answers: from an edge on one line to the next on "
                    "another.",
                    "signal.app",
                ),
                Command(
                    "clock",
                    "Measure a clock: frequency, jitter, duty cycle, drift; and what its "
                    "registers should give.",
                    "signal.app",
                ),
                Command(
                    "uart",
                    "Decode serial lines: rate and frame found, errors and glitches marked, "
                    "beside a host's log.",
                    "signal.app",
                ),
                Command(
                    "infrared",
                    "Read a remote control: pulses and spaces, the protocol named and decoded.",
                    "signal.app",
                ),
                Command(
                    "decode",
                    "Decode any protocol that libsigrokdecode knows, from any kind of capture.",
                    "signal.app",
                ),
                Command(
                    "psk",
                    "Make BPSK with a transmitter for MSK: its symbols, and phase, spectrum, "
                    "errors simulated.",
                    "signal.app",
                ),
                Command(
                    "synth",
                    "Make sound with a radio's four frequencies: two-bit symbols, and their "
                    "spectrum.",
                    "signal.app",
                ),
                Command(
                    "fsk",
                    "Find the frequencies of a keyed line, and which symbol each of them is.",
                    "signal.app",
                ),
                Command(
                    "serial",
                    "Put a serial line to the test: lost, doubled, altered, stuck bytes, and "
                    "their cause.",
                    "signal.app",
                ),
                Command(
                    "capture",
                    "Record lines with a logic analyser, for a time or while a command runs.",
                    "signal.app",
                ),
                Command(
                    "analysers", "List the logic analysers that are plugged in here.", "signal.app"
                ),
            ),
        ),
    ),
)
