"""The text form of programs: printed and parsed back."""
