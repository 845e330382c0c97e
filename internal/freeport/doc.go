// Package freeport chooses ports for servers that tests start.
package freeport
