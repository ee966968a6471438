"""Builders with which a program of the machine is written in Python, part by part."""
