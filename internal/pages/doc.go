// Package pages yields a long list of which a store reads a part at a time.
package pages
