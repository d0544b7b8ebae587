"""Run `mtn-log-to-sessions` from the source tree; see mtn_preprocess/log_to_sessions.py."""

from mtn_preprocess.log_to_sessions import main

if __name__ == "__main__":
    main()
