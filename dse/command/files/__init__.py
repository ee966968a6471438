"""Commands on the files of a user: show those that ship, and begin one."""
