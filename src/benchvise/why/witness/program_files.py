"""The files that a program of a board may be configured by.

Nobody but the program knows what it reads. So what it is named by is followed: its own file or
script, what starts it, and what carries its name in /etc; the files that these name; what they
include; scripts that they call, and what those read as shells do. Modules that a configuration
names (of PAM, of the name service, plug-ins: pam.conf(5), nsswitch.conf(5)) are searched where
libraries are, and followed to the files that they name: a module may run all scripts of a
directory. A message bus is asked for the services that it starts, which have files of their own.
"""

from __future__ import annotations

FILES_OF_A_PROGRAM = (
    "n=$1 u=$2; shift 2; "
    'named() { for f in $1; do head -c 8388608 "$f" | tr -c "\\041-\\176" "\\n" | '
    'grep -oE "/((usr/local/)?etc/[A-Za-z0-9_./@+-]+|'
    '[A-Za-z0-9_./@+-]+[.](conf|cfg|ini|json|ya?ml|toml|properties))" | '
    'sed "s/[./]*$//"; done; }; '
    'called() { for f in $1; do head -c 1048576 "$f" | tr -c "\\041-\\176" "\\n" | '
    'grep -oE "/(opt|srv|home|root|etc|var/www|usr/(local|lib|libexec))/[A-Za-z0-9_./@+-]+"; '
    'done | sort -u | while read -r f; do [ -f "$f" ] && [ -x "$f" ] && '
    '[ "$(head -c 2 "$f" | tr -d "\\0")" = "#!" ] && echo "$f"; done; }; '
    'sourced() { for f in $1; do head -c 1048576 "$f"; done | grep -aoE '
    '"(^|[[:space:];&])([.]|source)[[:space:]]+\\"?/[A-Za-z0-9_./@+-]+" | '
    'grep -oE "/[A-Za-z0-9_./@+-]+"; }; '
    'kept() { for f in $1; do head -c 1048576 "$f" | tr -c "\\041-\\176" "\\n" | '
    'grep -oE "/(var|srv|data|home|mnt|opt)/[A-Za-z0-9_./@+-]+"; done | sed "s/[./]*$//" | '
    'sort -u | while read -r f; do [ -d "$f" ] && echo "$f/"; done | head -20; }; '
    'included() { for f in $1; do for e in $(grep -aiE "^[[:space:]]*[!%@.#$]?(include|[a-z-]+'
    '[[:space:]]+(include|substack))[a-z_-]*[[:space:]=]" "$f" | sed "s|[[:space:]]#.*||; '
    's|[\\"\'<>;]||g; s|[[:space:]]*$||; s|.*[[:space:]=]||; s|^[^/]|${f%/*}/&|"); do '
    'echo "$e"; done; done 2>/dev/null; }; '
    'plugged() { for f in $1; do case $f in */nsswitch.conf) grep -v "^#" "$f" | cut -d: -f2- | '
    'tr -cs "a-z0-9_" "\\n" | sed "s|.*|libnss_&.so.2|";; esac; '
    'case $(head -c 4 "$f" | tr -d "\\0") in ?ELF) continue;; esac; '
    'head -c 262144 "$f" | grep -aoE "[A-Za-z0-9_./+-]+[.]so([.][0-9]+)*"; done 2>/dev/null | '
    "sort -u | head -100 | while read -r m; do case $m in */*) for f in $m; do "
    '[ -f "$f" ] && echo "$f"; done;; *) for d in /lib /usr/lib /usr/local/lib /lib64 /usr/lib64 '
    '/lib/*-linux-* /usr/lib/*-linux-*; do for f in "$d/$m" "$d/security/$m" "$d/$n/$m" '
    '"$d/$n"/*/"$m"; do [ -f "$f" ] && echo "$f" && break 2; done; done;; esac; done; }; '
    "all() { sort -u | while read -r f; do case $f in */rc?.d|*/init.d|*/pam.d|*/ssl*|"
    "*/alternatives*|*/ld.so*|*/systemd|*/systemd/system) continue;; esac; "
    'if [ -d "$f" ]; then for e in "$f"/*; do [ -f "$e" ] && echo "$e"; done; '
    'elif [ -f "$f" ]; then echo "$f"; fi; done | head -100; }; '
    'for f in "$@"; do case $f in /opt/*|/srv/*|/usr/local/*|/home/*) for e in conf cfg ini json '
    'yml yaml toml; do set -- "$@" "${f%/*}"/*."$e"; done;; esac; done; '
    's=$({ printf "%s\\n" "/etc/init.d/$n" "/etc/default/$n" "/etc/conf.d/$n" '
    '"/etc/sysconfig/$n" "/etc/config/$n" "/etc/$n" "/etc/$n.conf" "/etc/$n.d" "/etc/pam.d/$n" '
    '"$@"; '
    'printf "%s\\n" "/usr/lib/$n.conf" "/usr/lib/$n.d" "/usr/lib/$n/$n.conf" '
    '"/usr/share/$n/$n.conf"; '
    'case $n in dbus-*) for d in /etc /usr/local/share /usr/share; do printf "%s\\n" '
    '"$d/dbus-1/services" "$d/dbus-1/system-services" "$d/dbus-1/session.d" '
    '"$d/dbus-1/system.d"; done;; esac; '
    '[ "$u" ] && printf "%s\\n" "/etc/systemd/system/$u" "/etc/systemd/system/$u.d" '
    '"/run/systemd/system/$u" "/usr/lib/systemd/system/$u" "/lib/systemd/system/$u"; '
    'grep -lws -- "$n" /etc/init.d/* /etc/rc.local /etc/inittab /etc/rc.d/* /etc/crontab '
    "/etc/cron.d/*; } | all); "
    'for i in 1 2 3; do s="$s $(included "$s" | all)"; done; '
    'a=$(named "$s" | all); p=$(plugged "$s $a"); m=$(named "$p" | all); '
    'c=$(called "$s $a $m" | all); d=$(sourced "$s $m $c" | all); '
    'b=$(named "$a $m $c $d" | all); printf "%s\\n" $s $a $p $m $b $c $d | sort -u; '
    'kept "$s $a $c"; true'
)
"""A script for the shell that prints them: its arguments are the name of the program, its unit or
nothing, and the files that it is started with. Last come directories in which it may keep files,
with a slash at the end."""
