"""A template compiled into steps that charge, reserve and loop, innermost step first."""
