"""The methods of search by name, and the searches that restrict or relax a mapspace."""
