"""What the planted causes slow down: command lines, and Python programs."""

from __future__ import annotations

# Becomes another program, which may wake up 2 ms late: PR_SET_TIMERSLACK.
SLACK = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(29, 2000000, 0, 0, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
_LOG = (
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo '<{}>benchvise {}' > /dev/kmsg; done"
)
LOG_LINES = _LOG.format(7, "x" * 60)
# Interfaces that come and go: each waits for what still reads the old state.
VETH = "for i in 1 2 3 4 5 6; do ip link add bvwhy0 type veth peer bvwhy1; ip link del bvwhy0; done"
# A mebibyte at a time through a pipe, as large as it may be.
PIPE = """
import fcntl, os
r, w = os.pipe()
try:
    fcntl.fcntl(w, 1031, 1 << 20)
except OSError:
    pass
data = bytes(1 << 20)
if os.fork():
    os.close(w)
    while os.read(r, 1 << 20):
        pass
else:
    os.close(r)
    for _ in range(2000):
        os.write(w, data)
"""
# All that a program writes to memory that it shares: of huge pages, or of small ones.
SHARED = """
import mmap
data = bytes(1 << 20)
for _ in range(4):
    memory = mmap.mmap(-1, 1 << 28)
    for _ in range(1 << 8):
        memory.write(data)
    memory.close()
"""
# As databases do it: from the pool of huge pages, else as it comes.
POOLED = """
import mmap
ours, huge = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0x40000
data = bytes(1 << 20)
for _ in range(4):
    try:
        memory = mmap.mmap(-1, 1 << 28, flags=ours | huge)
    except OSError:
        memory = mmap.mmap(-1, 1 << 28, flags=ours)
    for _ in range(1 << 8):
        memory.write(data)
    memory.close()
"""
# System calls behind a long filter. It looks at an argument: else the kernel keeps its answer.
FILTERED = """
import ctypes, os, struct
LOAD_ARGUMENT, IS_EQUAL, ALLOW = struct.pack("HBBI", 0x20, 0, 0, 16), 0x15, (6, 0, 0, 0x7fff0000)
code = LOAD_ARGUMENT
for value in range(1000):
    code += struct.pack("HBBI", IS_EQUAL, 0, 0, 0x5bd1e995 + value)
code += struct.pack("HBBI", *ALLOW)
held = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, "no new privileges"
assert libc.prctl(22, 2, program, 0, 0) == 0, "a filter"
for _ in range(200000):
    os.getppid()
"""
# Each waits until all CPUs have been through: sys_membarrier(2).
BARRIERS = """
import ctypes, os
number = 324 if os.uname().machine == "x86_64" else 283
libc = ctypes.CDLL(None)
for _ in range(20):
    assert libc.syscall(number, 1, 0, 0) == 0
"""
NOBODY = ("setpriv", "--reuid=65534", "--clear-groups")
WORK = "dd if=/dev/zero of=/dev/null bs=64k count=40000 2>/dev/null"
COLD = "dd if={file} iflag=nocache count=0 2>/dev/null; "
# A buffer that is written once: nearly all of it is page faults.
TOUCHING = "python3 -c 'for i in range(8): bytearray(bytes(1 << 27))'"
