"""Commands and texts about Benchvise itself: what can be named, and how its commands are called.

described        a command's arguments and options as records, from what typer holds
  ├ help_page    `--help` of a command
  ├ completion   scripts for bash, zsh and fish
  ├ manual       man pages
  └ share        man pages and completions as files, for the wheel
knobs, suites, find, config, next_steps, help_command    commands of their own
"""
