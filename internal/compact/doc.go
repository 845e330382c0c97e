// Package compact encodes JSON exactly as encoding/json does, byte for byte, but with fewer passes.
// json.Marshal parses the result of each MarshalJSON again at every level; an [Appender] avoids
// that.
package compact
