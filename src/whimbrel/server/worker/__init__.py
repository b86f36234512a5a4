"""One worker process: its event loop, shared state, clock, scoreboard and timeouts.

Public: worker.Worker, state.WorkerState, runtime.ServerRuntime, scoreboard.Scoreboard, read_timeout.
A scoreboard slot is shared memory that one worker writes and every process reads.
Must not import: master, except for generation, messages and privileges.
"""
