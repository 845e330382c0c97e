// Package sniff finds the media type of a content by its first bytes.
package sniff
