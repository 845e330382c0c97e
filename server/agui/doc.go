// Package agui reads the requests of the Agent-User Interaction protocol
// (https://docs.ag-ui.com), and makes its events of a conversation.
//
// The messages of a client that the thread already has are not read again: the thread is what
// counts. The state that a client sends back is compared with that of the thread, and only what the
// client has changed is an input. The package has no I/O.
package agui
