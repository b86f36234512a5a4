"""From request to answer: plans, phases, sub-requests, error documents."""
