// Package values compares JSON: numbers by their exact value, objects whatever the order of
// their names. Packages memory and document stand on it, so that both mean the same by
// equal, and every backend of theirs does.
package values
