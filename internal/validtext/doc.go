// Package validtext finds text in Go values that is not valid UTF-8. JSON cannot hold such text:
// encoding/json replaces the invalid bytes without an error.
package validtext
