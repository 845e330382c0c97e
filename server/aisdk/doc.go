// Package aisdk reads the requests of the chats of the AI SDK (https://ai-sdk.dev), and makes the
// parts of its UI message streams of a conversation.
//
// A stream is one message of an assistant, whose id is that of the run. It has a step for each
// message of the model. The questions of a run are parts named data-question; the field resume of
// the next request answers them, by their ids. What a node emits is a part named by it, such as
// data-progress. The package has no I/O.
package aisdk
