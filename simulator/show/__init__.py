"""Pictures of programs and runs: timelines, heat maps, memory maps."""
