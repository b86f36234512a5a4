"""The parent process: configuration, sockets, signals, the pool of workers.  Manual: stopping.html, mpm_common.html.

Public: master.Master, single_process.serve, worker_pool.WorkerPool, generation.Generation, pidfile, privileges, sockets.
It never trusts what a worker writes (scoreboard, pipes).
Must not import: http1, http2, connection.
"""
