"""Find Pareto sets that answer for many designs, which differ in sizes, fanouts and energies."""
