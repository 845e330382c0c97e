package temporal

import "flag"

var (
	seeds = flag.Int("seeds", 150, "how many random graphs are run in each mode")
	seed  = flag.Uint64("seed", 1, "the first of them")
)
