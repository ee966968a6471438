"""The certificate: no arbiter and no order of visits can change the times."""
