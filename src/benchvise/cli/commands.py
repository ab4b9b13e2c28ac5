"""The table of commands: what help lists, and where each command is.

``benchvise --help`` and the help of groups are made of this table alone: importing the commands
would take longer than most of them take to run. The first line of a command's docstring is its
summary here; a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchvise.host_system import Needs


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its one line of help.

    ``source`` is the command's function: its module below ``benchvise.cli`` and its name there.
    With a ``record`` (below ``benchvise``), it is the function that makes the command of that.
    ``rows`` is the list of its ``--json`` that ``--format csv`` and its like write: a key of the
    document, or ``.`` for all of it. ``needs`` is what the machine has to run.
    """

    name: str
    summary: str
    source: str
    record: str = ""
    rows: str = ""
    needs: Needs = "any"


@dataclass(frozen=True, slots=True)
class ProgramOption:
    """An option of the program itself; ``metavar`` is empty for one that takes no value."""

    name: str
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()


PROGRAM_OPTIONS = (
    ProgramOption("--version", "Print the version."),
    ProgramOption(
        "--color",
        "Use colours: auto, always or never; anywhere on a command line.",
        "WHEN",
        ("auto", "always", "never"),
    ),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Commands below one name.

    ``default`` is the command that runs where none is named; where it ``takes_text``, also for a
    word that names none. ``subjects`` are headings with the names of the entries that help lists
    below each, in this order; without them, there is one list. ``added`` is the function (below
    ``benchvise.cli``) that gives the commands which users add. ``needs`` is what the machine has to
    run for any of them.
    """

    name: str
    summary: str
    entries: tuple[Command | Group, ...]
    default: str = ""
    takes_text: bool = False
    subjects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    added: str = ""
    needs: Needs = "any"

    def by_subject(self) -> list[tuple[str, list[Command | Group]]]:
        """The entries as help lists them: each heading with what stands below it."""
        if not self.subjects:
            return [("Commands", list(self.entries))]
        named = {entry.name: entry for entry in self.entries}
        return [(heading, [named[name] for name in names]) for heading, names in self.subjects]


PROGRAM = Group(
    "benchvise",
    "Hold a board still, measure it, and find out why.",
    (
        Command(
            "next",
            "Show five things to do next on this machine.",
            "reference.next_steps.next_steps",
            rows=".",
        ),
        Command(
            "doctor",
            "List what this machine has, what is missing, and how to get it.",
            "doctor.doctor",
            rows=".",
        ),
        Command("run", "Measure boards and keep the results.", "measure.run", needs="unix"),
        Command(
            "versus",
            "Time two or more commands side by side, in random order, and say which is faster.",
            "versus.versus",
            needs="linux",
            rows="commands",
        ),
        Command(
            "restore",
            "Restore settings that a run left behind when it was killed or lost its board.",
            "state.restore",
            needs="unix",
            rows=".",
        ),
        Command("runs", "List the runs in the store, newest first.", "results.runs", rows="."),
        Command(
            "show",
            "Show a run: every series with its median, interval and what to know about it.",
            "results.show",
            rows="series",
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
            "history",
            "Find when series changed, on all boards, and what changed in the state beside them.",
            "history.history",
        ),
        Command(
            "gate",
            "Measure a change beside a baseline and say whether it may pass: exit 0, 1 or 5.",
            "gate.gate",
            needs="unix",
            rows="series",
        ),
        Command(
            "nightly",
            "Measure the boards of a job file every night, and say what regressed.",
            "nightly.nightly",
            needs="unix",
            rows="boards",
        ),
        Command(
            "report",
            "Write one self-contained page about one or more runs, to look at or to mail.",
            "results.report",
        ),
        Command(
            "export",
            "Write runs to one file: samples, snapshots, notes, without what is private.",
            "exchange.export_runs",
            rows="redacted",
        ),
        Command(
            "import",
            "Read runs from a file into the store, with their ids, times, tags and notes.",
            "exchange.import_runs",
            rows="redacted",
        ),
        Command(
            "site",
            "Write a static site of many boards: all metrics, ranks, a page each, comparison of "
            "any two.",
            "exchange.site",
        ),
        Group(
            "store",
            "Copy, back up, share and thin the store of results.",
            (
                Command(
                    "copy",
                    "Copy the store into an empty one: SQLite to PostgreSQL, back, or as a backup.",
                    "store.copy",
                ),
                Command(
                    "thin",
                    "Remove evidence and samples of old runs; show first what that would be.",
                    "store.thin",
                ),
                Command(
                    "roles",
                    "Print SQL that makes the roles of a store in PostgreSQL: reader, runner, "
                    "keeper.",
                    "store.roles",
                ),
            ),
        ),
        Command("why", "Find out why two boards differ, and prove it.", "why.why", needs="unix"),
        Command(
            "bisect",
            "Find the version that made it worse, although values scatter.",
            "records.command_line",
            "flows.bisect.BISECT",
            needs="unix",
        ),
        Command(
            "watch",
            "Poll boards for weeks: counters, kernel log, sensors; report changes as they happen.",
            "health.watch",
            needs="unix",
        ),
        Command(
            "snapshot",
            "Record what a board is set to and made of, without changing anything.",
            "state.snapshot",
            needs="unix",
            rows="settings",
        ),
        Command(
            "diff",
            "List the settings in which two snapshots differ.",
            "state.diff",
            rows="differences",
        ),
        Command(
            "health",
            "Check a board's health: kernel log, disks, network, memory, sensors, clocks.",
            "health.health",
            rows="sections",
        ),
        Command(
            "serve",
            "Serve the workbench in the browser: boards, runs, diagnoses, traces; until Ctrl-C.",
            "serve.serve",
        ),
        Group(
            "bench",
            "List benchmarks, and show what each one measures.",
            (
                Command("list", "List the benchmarks.", "bench.list_benchmarks", rows="."),
                Command(
                    "show",
                    "Show what a benchmark measures, how, what it does not, and its reference "
                    "tool.",
                    "bench.show_benchmark",
                ),
            ),
            needs="linux",
            default="list",
        ),
        Group(
            "knobs",
            "List the settings of a board that can be changed, and what each one costs.",
            (
                Command(
                    "list",
                    "List the settings that `run --set` changes and `why` tries.",
                    "reference.knobs.list_knobs",
                    rows=".",
                ),
                Command(
                    "show",
                    "Show a setting: path, values, effects, and its value on a board.",
                    "reference.knobs.show_knob",
                    rows="present",
                ),
            ),
            default="list",
            takes_text=True,
        ),
        Group(
            "suites",
            "List suites: benchmarks that are measured together.",
            (
                Command("list", "List the suites.", "reference.suites.list_suites", rows="."),
                Command(
                    "show",
                    "Show the benchmarks of a suite.",
                    "reference.suites.show_suite",
                    rows="entries",
                ),
            ),
            default="list",
        ),
        Command(
            "find",
            "Find a setting, benchmark, suite, trace analysis or event by a name you know.",
            "reference.find.find",
            rows=".",
        ),
        Group(
            "rig",
            "Hold boards: power, card, console, boot; real and simulated ones.",
            needs="linux",
            entries=(
                Command(
                    "soak",
                    "Boot a board many times from cold: failure rate, where it fails, durations.",
                    "rig.soak",
                ),
                Command(
                    "compose",
                    "Make an image out of layers of others, to find the layer that makes the "
                    "difference.",
                    "rig.compose",
                ),
                Command(
                    "status",
                    "List boards: power, side of the card, holder, features.",
                    "rig.status",
                    rows=".",
                ),
                Command(
                    "power",
                    "Switch boards on or off by name; each change is read back.",
                    "rig.power",
                    rows=".",
                ),
                Command(
                    "mux",
                    "Turn a card to this machine or to its board, which must be off.",
                    "rig.mux",
                    rows=".",
                ),
                Command(
                    "flash",
                    "Write an image to cards, read it back, and compare; the boards are off.",
                    "rig.flash",
                    rows=".",
                ),
                Command(
                    "boot",
                    "Boot boards from off to a shell; show the duration of each phase.",
                    "rig.boot",
                    rows=".",
                ),
                Command(
                    "console",
                    "Open a board's serial console (Ctrl-] quits). The session is recorded.",
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
                            "List the simulated boards and their state.",
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
                            "Inject a fault into a simulated board, its relay, mux, card or "
                            "console.",
                            "rig_virtual.fault",
                        ),
                        Command(
                            "image",
                            "Print the path of a simulated board's card image, built if missing.",
                            "rig_virtual.image",
                        ),
                    ),
                ),
            ),
        ),
        Group(
            "trace",
            "Record, query, analyse and export kernel traces.",
            (
                Command(
                    "info",
                    "Show what a trace holds: format, clock, streams, events, losses, damage.",
                    "records.analysis_command",
                    "trace.catalogue.info.INFO",
                ),
                Command(
                    "query",
                    "Query a trace by SQL: every event type is a table, and so is every analysis.",
                    "trace.query",
                ),
                Command(
                    "events", "List events in order of time, with their fields.", "trace.events"
                ),
                Command(
                    "record",
                    "Record what a board's kernel does, for a time or while a command runs there.",
                    "trace.record",
                    needs="unix",
                ),
                Command(
                    "stats",
                    "Show what took the CPUs: tasks, interrupts, softirqs, idle; switches "
                    "and losses.",
                    "records.analysis_command",
                    "trace.catalogue.stats.STATS",
                ),
                Command(
                    "actors",
                    "List how long instances of threads and handlers took, and how late and "
                    "regular they were.",
                    "records.analysis_command",
                    "trace.catalogue.actors.ACTORS",
                ),
                Command(
                    "load",
                    "Draw the CPU load over time: of all CPUs, of each, of each actor.",
                    "records.analysis_command",
                    "trace.catalogue.stats.LOAD",
                ),
                Command(
                    "switches",
                    "Draw context switches a second over time: in all, by CPU, by actor.",
                    "records.analysis_command",
                    "trace.catalogue.stats.SWITCHES",
                ),
                Command(
                    "latency",
                    "Measure from one point to another over all occurrences, stage by stage.",
                    "records.analysis_command",
                    "trace.catalogue.latency.LATENCY",
                ),
                Command(
                    "critical-path",
                    "Show where the time of a response went, from its first cause to its end.",
                    "records.analysis_command",
                    "trace.catalogue.causes.CRITICAL_PATH",
                ),
                Command(
                    "delays",
                    "List what kept threads from running: who had the CPU, and who preempted them.",
                    "records.analysis_command",
                    "trace.catalogue.causes.DELAYS",
                ),
                Command(
                    "modes",
                    "Group the response times of an actor into modes, and show what "
                    "distinguishes them.",
                    "records.analysis_command",
                    "trace.catalogue.modes.MODES",
                ),
                Command(
                    "sched",
                    "List what the scheduler did: waits for a CPU, time slices, "
                    "preemptions, migrations.",
                    "records.analysis_command",
                    "trace.catalogue.scheduling.SCHED",
                ),
                Command(
                    "wakeups",
                    "List who wakes whom, and how long the woken wait until they run.",
                    "records.analysis_command",
                    "trace.catalogue.scheduling.WAKEUPS",
                ),
                Command(
                    "syscalls",
                    "List how long system calls took, by call and by who made them.",
                    "records.analysis_command",
                    "trace.catalogue.kernel.SYSCALLS",
                ),
                Command(
                    "block",
                    "List how long requests to block devices waited in the queue and in the "
                    "device.",
                    "records.analysis_command",
                    "trace.catalogue.kernel.BLOCK",
                ),
                Command(
                    "timers",
                    "List how late timers ran, how long their functions took, and how long "
                    "CPUs had no tick.",
                    "records.analysis_command",
                    "trace.catalogue.kernel.TIMERS",
                ),
                Command(
                    "idle",
                    "List how often and how long CPUs were in each idle state.",
                    "records.analysis_command",
                    "trace.catalogue.kernel.IDLE",
                ),
                Command(
                    "osnoise",
                    "List how much noise osnoise measured on each CPU, and who interfered.",
                    "records.analysis_command",
                    "trace.catalogue.noise.OSNOISE",
                ),
                Command(
                    "timerlat",
                    "List timerlat's latencies by CPU, and take the longest apart: who delayed "
                    "it how long.",
                    "records.analysis_command",
                    "trace.catalogue.noise.TIMERLAT",
                ),
                Command(
                    "functions",
                    "List the functions or slices that took longest: calls, self and total times.",
                    "records.analysis_command",
                    "trace.catalogue.functions.FUNCTIONS",
                ),
                Command(
                    "flame",
                    "List the functions in which samples were taken, self and total; of two "
                    "traces, what grew.",
                    "records.analysis_command",
                    "trace.catalogue.flame.FLAME",
                ),
                Command(
                    "counters",
                    "List least, mean and greatest values of counters: run queues, frequencies, "
                    "any field.",
                    "records.analysis_command",
                    "trace.catalogue.kernel.COUNTERS",
                ),
                Command(
                    "compare",
                    "Compare two traces, of two boards or two kernels, actor by actor, matched "
                    "by name.",
                    "records.analysis_command",
                    "trace.catalogue.compare.COMPARE",
                ),
                Command("export", "Write a trace for another program.", "trace.export"),
            ),
            added="added_analyses.added_analyses",
        ),
        Group(
            "signal",
            "Analyse captures: electrical signals, and what they show of a board.",
            (
                Command(
                    "info",
                    "Show what a capture holds: its lines, their edges, the clock.",
                    "records.command_line",
                    "signal.commands.info.INFO",
                ),
                Command(
                    "response",
                    "Measure response times: from an edge on one line to the next on another.",
                    "records.command_line",
                    "flows.signal.RESPONSE",
                ),
                Command(
                    "clock",
                    "Measure a clock: frequency, jitter, duty cycle, drift; compare it with "
                    "its registers.",
                    "records.command_line",
                    "signal.commands.clock.CLOCK",
                ),
                Command(
                    "uart",
                    "Decode serial lines: rate, frame, bytes, errors, glitches; compare a "
                    "host's log.",
                    "records.command_line",
                    "signal.commands.uart.UART",
                ),
                Command(
                    "infrared",
                    "Read a remote control: pulses and spaces, protocol and codes.",
                    "records.command_line",
                    "signal.commands.infrared.INFRARED",
                ),
                Command(
                    "decode",
                    "Decode any protocol that libsigrokdecode knows, from any kind of capture.",
                    "records.command_line",
                    "signal.commands.decode.DECODE",
                ),
                Command(
                    "psk",
                    "Make BPSK symbols for an MSK transmitter; simulate phase, spectrum and "
                    "errors.",
                    "records.command_line",
                    "signal.commands.radio.PSK",
                ),
                Command(
                    "synth",
                    "Make sound with a radio's four frequencies: two-bit symbols and their "
                    "spectrum.",
                    "records.command_line",
                    "signal.commands.radio.SYNTH",
                ),
                Command(
                    "fsk",
                    "Find the frequencies of a keyed line and the symbol of each.",
                    "records.command_line",
                    "signal.commands.radio.FSK",
                ),
                Command(
                    "serial",
                    "Test a serial line: lost, doubled, altered, stuck bytes, and their cause.",
                    "records.command_line",
                    "signal.commands.serial.SERIAL",
                    needs="linux",
                ),
                Command(
                    "capture",
                    "Record lines with a logic analyser, for a time or while a command runs.",
                    "records.command_line",
                    "flows.signal.CAPTURE",
                ),
                Command(
                    "analysers",
                    "List the logic analysers that are plugged in here.",
                    "records.command_line",
                    "flows.signal.ANALYSERS",
                ),
            ),
        ),
        Command(
            "config",
            "Show each default from the configuration files, and where it comes from.",
            "reference.config.config",
            rows="entries",
        ),
        Command(
            "plugins",
            "List what your own files and installed packages add, and what is wrong in it.",
            "reference.plugins.plugins",
            rows=".",
        ),
        Command(
            "schema",
            "Print the JSON Schema of a kind of `--json` document, or list the kinds.",
            "reference.schema.schema",
            rows=".",
        ),
        Command(
            "completion",
            "Print the completion script of a shell.",
            "reference.completion.completion",
        ),
        Command("help", "Show the help of a command.", "reference.help_command.help_command"),
    ),
    default="next",
    subjects=(
        (
            "Measure and compare",
            (
                "run",
                "versus",
                "runs",
                "show",
                "compare",
                "history",
                "gate",
                "nightly",
                "report",
                "export",
                "import",
                "site",
                "store",
                "tag",
                "note",
            ),
        ),
        ("Find the cause", ("why", "bisect", "snapshot", "diff", "restore")),
        ("Hold and watch boards", ("rig", "health", "watch")),
        ("Traces, captures, workbench", ("trace", "signal", "serve")),
        ("Look up", ("find", "bench", "suites", "knobs")),
        ("This program", ("next", "doctor", "config", "plugins", "schema", "completion", "help")),
    ),
)
