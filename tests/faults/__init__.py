"""Faults by plan: each fault of machine, disk, processes and back ends under each kind of load (make faults)."""
