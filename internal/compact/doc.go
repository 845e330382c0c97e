// Package compact writes JSON as encoding/json does, byte for byte, and spares a value that has
// written itself the second pass: json.Marshal reads again all that a MarshalJSON returns, at each level.
package compact
