package refmodel

// slotInvalid is the slot of the pending write that invalidates the results of a step. The name is
// that of package graph in stored records.
const slotInvalid = "void"
