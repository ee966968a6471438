"""What searches of equal Einsums have found before: bounds and cycles."""
