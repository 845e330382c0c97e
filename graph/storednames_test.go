package graph_test

// Names in stored records. They do not change.
const (
	storedMemo = "kept/" // begins the slot of a result of Once, Call or Go
)
