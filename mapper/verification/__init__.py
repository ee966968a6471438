"""A proof, apart from the search and the model, that a mapping computes its workload and fits."""
