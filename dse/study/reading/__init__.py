"""From the data of a study file to a study, with the place of everything that is wrong."""
