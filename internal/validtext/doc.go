// Package validtext finds text in Go values that is not UTF-8. JSON cannot hold such text:
// encoding/json replaces what is wrong in it without an error.
package validtext
