"""Ask runs: filters, fronts, comparisons, explanations, exports."""
