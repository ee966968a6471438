"""What searches of architectures that differ in numbers alone have in common."""
