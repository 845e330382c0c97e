// Package chat holds a conversation with an agent on a terminal or over pipes.
package chat
