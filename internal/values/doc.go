// Package values compares JSON values: numbers by their exact value, objects without regard to the
// order of their members. Packages memory and document use it, so that all their backends agree on
// equality.
package values
