"""Parent process: configuration, sockets, signals, the pool of workers. Manual: stopping.html.

Public: master.Master, single_process.serve, worker_pool.WorkerPool, generation.Generation, privileges.
It validates everything that a worker writes (scoreboard, pipes).
Must not import: http1, http2, connection.
"""
