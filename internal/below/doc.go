// Package below reads files that must stay below a folder, whatever dots and symbolic
// links a name holds.
package below
