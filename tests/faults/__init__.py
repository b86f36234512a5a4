"""Faults by plan (make faults): each fault of machine, disk, processes and back ends under each load."""
