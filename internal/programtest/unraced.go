//go:build !race

package programtest

// CopyUnraced is Copy: the program is without the race detector.
func CopyUnraced(to string) error { return Copy(to) }
