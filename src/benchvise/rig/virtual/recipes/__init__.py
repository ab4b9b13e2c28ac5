"""Card images of simulated boards, built unprivileged from Debian packages."""
