"""Templates: which memory holds which tensor, and where loops may stand between the holders."""
