//go:build !linux

package sqlite

// groundOf returns an unknown file system.
func groundOf(string) ground { return ground{} }
