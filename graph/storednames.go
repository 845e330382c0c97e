package graph

// Names in stored records, in drawings and in the hash of a program. They must not change.
const (
	slotMemo      = "kept/"  // a result of Once, Call or Go: the id of the call follows
	slotInvalid   = "void"   // no task: the results could not be folded, so they do not count
	edgeHandler   = "rescue" // DrawnEdge.Kind of the targets of an error handler
	storedHandler = "rescue" // begins the targets of an error handler in the hash of a program
)
