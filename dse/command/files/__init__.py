"""Commands on the files of a user: show those that ship, begin one, complete their names."""
