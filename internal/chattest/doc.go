// Package chattest has graphs that talk, and a server of them, for tests of protocols for chats.
package chattest
