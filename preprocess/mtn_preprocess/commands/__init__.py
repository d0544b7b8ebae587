"""Code that all commands share, and two small commands.

flag_types   values of flags
interrupts   Ctrl-C
parser       argparse with --version
notes        notes on standard error
time_left    progress of long work
check_text   mtn-check-text
user_dir     mtn-user-dir
"""
