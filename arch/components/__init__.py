"""Resolved components, their actions, and the estimates of costs that a file leaves open."""
