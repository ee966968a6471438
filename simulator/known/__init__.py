"""What is known of equal questions: keys by content, and a store that processes and runs share."""
