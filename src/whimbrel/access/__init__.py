"""What a configuration decides about a client, as a boolean function: for the upgrader and the verifier, never for serving."""
