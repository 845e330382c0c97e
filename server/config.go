package server

import (
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
	"github.com/weftrun/weft/server/wire"
)

// Config are the settings of a Server. Only Store and Graphs are required.
type Config struct {
	// Store has the commits of the threads.
	Store checkpoint.Store
	// Documents has the records of threads and assistants, and Memory the items. If they are nil,
	// those of the Store are used. A checkpoint.Memory has neither: then both are in the memory of
	// this process.
	Documents document.Store
	Memory    memory.Store
	// Index, if it is set, returns the index by which a search with a query finds items of the
	// memory by meaning, and not by words.
	Index func(memory.Store) *memory.Index
	// Bus has the events of runs. If it is nil that of the Store is used, and for a
	// checkpoint.Memory one in the memory of this process.
	Bus topic.Bus
	// Messages names, by graph id, the fields of the state that are lists of messages. On the wire
	// these have the form that clients expect. A graph without an entry has those of its fields
	// that are a message.Log.
	Messages map[string][]string
	// Graphs are the graphs by id. Factories build those that depend on settings. An engine, such
	// as Temporal, carries out the runs of a graph that is a work.Engine. Then all servers on the
	// store must have the graphs of the engine.
	Graphs    map[string]graph.Untyped
	Factories map[string]Factory
	// Defaults are the settings of the system assistants by graph id. They are set when the
	// assistant is first stored.
	Defaults map[string]Defaults
	// Auth decides who may do what. The zero Auth allows everything.
	Auth Auth
	// CORS allows pages of other origins to call the server. The zero CORS allows none.
	CORS CORS
	// Dialect is that of all requests without the header X-Weft-Dialect. With "" it follows from
	// the headers of the request.
	Dialect wire.Dialect
	// Lease is how long a process holds a run without renewing its claim: 1.5 s if it is 0, and not
	// less than [MinLease]. It is the time until others notice that the process has died. A store
	// that does not answer for so long lets them begin the run again from its last commit. It
	// must be shorter than the time after which the store gives up a call. All processes on the
	// store should agree on it.
	Lease time.Duration
	// Limits bound requests.
	Limits Limits
	// Routes are handlers of the application. They come before the routes of the server.
	Routes *http.ServeMux
	// Middleware wraps all requests, those to Routes too.
	Middleware func(http.Handler) http.Handler
	// UI has bundles of components by name. Each has the script entrypoint.js, and may have
	// entrypoint.css. Browsers load the files without credentials.
	UI map[string]fs.FS
	// Webhooks are the settings of the requests that report the ends of runs, and notices.
	Webhooks Webhooks
	// Studio serves pages below /studio/ that show graphs and threads in a browser. A browser sends
	// the key or the token of its user as the password of basic authentication.
	Studio Studio
	// StudioBase is the path below which the pages of the studio are, "/studio" if it is "". A
	// proxy must not change it.
	StudioBase string
	// Editor has the workflows that the studio edits; nil has no editor. Its callers may update
	// assistants.
	Editor studio.Editor
	// AllowTruncate enables POST /internal/truncate for clients on this machine.
	AllowTruncate bool
	// Version is answered by GET /info.
	Version string
	// Log gets a line at debug level for each request, and the errors that clients do not see.
	// nil means slog.Default.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// MinLease is the least Lease of a Config.
const MinLease = 100 * time.Millisecond

// Studio is what the pages of the studio may do.
type Studio string

const (
	StudioOff  Studio = ""     // there are no pages
	StudioRead Studio = "read" // they only show
	StudioOn   Studio = "on"   // they also answer questions
)

// Webhooks are the settings of the requests that report the ends of runs, and notices.
type Webhooks struct {
	// Notify is the URL that gets the notices of open questions: a [wake.Notice] as JSON for each
	// reminder and each escalation. The log of the server has them in any case. Each server that
	// works on the store must have it, since any may send a notice. "" means none.
	Notify string
	// Outbound limits the addresses of runs' webhooks and of Notify.
	Outbound Outbound
	// Secret, if it is set, signs their bodies: the header X-Weft-Signature has the HMAC-SHA256.
	Secret []byte
}

// Defaults are the settings of a system assistant.
type Defaults struct {
	Config  wire.Config `json:"config"`
	Context wire.Object `json:"context"`
}

// Limits bound requests. A zero field has the value in its comment.
type Limits struct {
	Body     int64         // bytes of a body: 4 MiB
	Depth    int           // arrays and objects of a body, inside each other: 200; of an input at most 97
	Metadata int           // bytes of metadata: 16 KiB
	Page     int           // results of a page: 1000
	BodyTime time.Duration // until a body has arrived: 30 s; a blob has 1 s more for each 16 KiB
	Blob     int64         // bytes of a blob: 1 GiB

	Supersteps int64 // bytes of a body that creates a thread: 16 MiB
	Request    int   // bytes of a run's request, as it is stored: 1 MiB
	Streams    int   // requests that follow a run in this process: 20,000
	Uploads    int   // blobs that arrive at once in this process, with 1 MiB of memory each: 64
	ThreadRuns int   // unfinished runs of a thread: 10,000
	// OwnerRuns is how many unfinished runs an identity may have, and Runs how many there may be of
	// all: 1,000 and 100,000. They are counted by Server.Work about once a second, so a burst may
	// exceed them. Callers without an identity share the latter alone.
	OwnerRuns, Runs int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Depth, 200}, {&l.Metadata, 16 << 10}, {&l.Page, 1000}, {&l.Request, 1 << 20}, {&l.Streams, 20_000}, {&l.Uploads, 64},
		{&l.ThreadRuns, 10_000}, {&l.OwnerRuns, 1000}, {&l.Runs, 100_000},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if l.Body == 0 {
		l.Body = 4 << 20
	}
	if l.Supersteps == 0 {
		l.Supersteps = 16 << 20
	}
	if l.Blob == 0 {
		l.Blob = 1 << 30
	}
	if l.BodyTime == 0 {
		l.BodyTime = 30 * time.Second
	}
	return l
}
