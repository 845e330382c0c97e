package studio

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
)

// Source is what the pages show to one caller.
type Source interface {
	Caller
	// Graphs returns the graphs in the order of their ids.
	Graphs(ctx context.Context) ([]Graph, error)
	// Threads returns a page of the threads, the newest first, and the number of all that match.
	Threads(ctx context.Context, q Query) (page []Thread, total int, err error)
	// Thread returns a thread by its id.
	Thread(ctx context.Context, id string) (Thread, error)
	// ServeBlob answers with the content of a blob that a thread claims. The query has the media
	// type of a picture to show.
	ServeBlob(w http.ResponseWriter, r *http.Request, thread, hash string) error
	// Answer starts a run of the thread that goes on with an answer to an open question. It fails
	// if the answer is refused, or the thread has another run.
	Answer(ctx context.Context, t Thread, question string, answer json.RawMessage) error
	// Start starts a run, and returns its thread.
	Start(ctx context.Context, s Start) (thread string, err error)
	// Resume starts a run that goes on from the newest checkpoint of a thread.
	Resume(ctx context.Context, t Thread) error
	// Edit stores a checkpoint with a change of the state.
	Edit(ctx context.Context, thread string, e Edit) error
	// Cancel cancels the runs of a thread that have not ended.
	Cancel(ctx context.Context, thread string) error
	// Prune removes all checkpoints of a thread but the newest.
	Prune(ctx context.Context, thread string) error
	// Remove removes a thread.
	Remove(ctx context.Context, thread string) error
	// Events yields the events of a thread after a position in its log, and those to come.
	Events(ctx context.Context, thread string, after uint64) iter.Seq2[eventlog.Batch, error]
	// Position returns the position of the newest event of a thread, 0 if there is none.
	Position(ctx context.Context, thread string) (uint64, error)
	// Changed returns a channel that is closed when a thread has changed.
	Changed() <-chan struct{}
	// MayEdit returns an error if the caller must not use the editor.
	MayEdit(ctx context.Context) error
	// Count returns the number of threads by graph and by status.
	Count(ctx context.Context) (map[string]map[string]int, error)
}

// Graph is a graph that is served.
type Graph struct {
	ID       string
	Graph    graph.Untyped
	Messages string // the field with a conversation; "" if it has none
}

// Start is a run to be started.
type Start struct {
	Graph  string          // the id
	Thread string          // "" for a new one
	Input  json.RawMessage // nil for a run that goes on
	At     uint64          // the checkpoint to go on from; 0 for the newest

	Assistant     string // the id; "" for that of the graph
	Context       json.RawMessage
	Durability    string   // "sync", "async" or "exit"; "" for the default
	Multitask     string   // what becomes of a run under way; "" refuses
	Before, After []string // the nodes at which the run pauses
}

// Edit is a change of a state. Without Writes it begins a branch and changes nothing.
type Edit struct {
	At     uint64 // the checkpoint that it goes on from; 0 for the newest
	As     string // the node in whose name it is made; "" leaves what is due
	Writes json.RawMessage
	Goto   []string // the nodes where it goes on, or graph.End; none is where the edges of As lead
}

// Query selects threads. A zero field selects all.
type Query struct {
	Status, Graph string
	// Metadata are values that the metadata of the threads have, as JSON.
	Metadata map[string]json.RawMessage
	// Text is part of the id, the error or a text of the metadata, in any case.
	Text string
	// Prefix is what the id begins with, in any case.
	Prefix string
	// Sort is one of Sorts; "" is the time of creation, the newest first.
	Sort          string
	Offset, Limit int
}

// Sorts are the orders of threads: the times are newest first.
var Sorts = []string{"created", "updated", "status"}

// Thread is a thread, and where its commits are.
type Thread struct {
	ID      string
	Status  string // one of Statuses
	GraphID string // "" if it is not known
	Created time.Time
	Updated time.Time
	Error   string // of its last run

	Graph    graph.Untyped // nil if it is not known, and in a list
	Messages string        // the field with a conversation; "" if it has none, and in a list
	Store    checkpoint.Store
}

// Statuses are the statuses of threads.
var Statuses = []string{"busy", "interrupted", "error", "idle"}
