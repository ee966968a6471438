"""What a search minimizes: a metric, a formula of metrics, or a Pareto front."""
