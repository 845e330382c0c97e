package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
	"github.com/weftrun/weft/wake"
)

// Server is an http.Handler that serves graphs. It is safe for concurrent use.
type Server struct {
	config     Config
	limits     Limits
	handler    http.Handler
	served     atomic.Pointer[served]
	draining   atomic.Bool
	memory     memory.Store
	assistants assistants
	threads    records[thread]
	leftovers  records[leftover]
	queue      *queue.Queue
	bus        topic.Bus
	hub        *work.Hub
	readers    readers
	beats      beats
	crons      crons
	timers     *wake.Timers
	webhooks   *webhooks
	metrics    metrics
	counts     *counts
	load       load
}

// New returns a server, and stores the system assistants of graphs that have none yet.
func New(ctx context.Context, c Config) (*Server, error) {
	if c.Store == nil {
		return nil, fmt.Errorf("%w: Store must be set", ErrConfig)
	}
	if c.Lease != 0 && c.Lease < MinLease {
		return nil, fmt.Errorf("%w: Lease must be at least %v (got %v)", ErrConfig, MinLease, c.Lease)
	}
	served, err := servedOf(c.Graphs, c.Factories, c.Messages)
	if err != nil {
		return nil, err
	}
	docs, items, err := storesOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Index != nil {
		items = c.Index(items)
	}
	counts := newCounts()
	docs = timedDocuments{docs, &counts.store}
	s := &Server{
		counts: counts,
		config: c, limits: c.Limits.withDefaults(), memory: items, assistants: newAssistants(docs),
		threads: newRecords[thread](docs, "weft.threads"), leftovers: newRecords[leftover](docs, "weft.leftovers"),
	}
	s.threads.terms = threadTerms
	if err := s.threads.index(ctx); err != nil {
		return nil, fmt.Errorf("server: the index of the threads: %w", err)
	}
	s.served.Store(served)
	bus, err := busOf(ctx, c)
	if err != nil {
		return nil, err
	}
	s.bus = countedBus{bus, counts}
	s.hub = &work.Hub{Log: s.events()}
	s.queue, err = queue.New(queue.Config{
		Store: c.Store, Documents: docs, Bus: s.bus, Line: s.limits.ThreadRuns, Lease: c.Lease, Now: c.Now, Engine: served.onEngine(), Claimed: counts.claimed,
		Ended: s.endedAlone, LogEnd: eventlog.Log{Bus: s.bus}.Last,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	s.crons, s.timers = newCrons(docs, s.now), wake.Over(docs)
	s.webhooks = newWebhooks(docs, c, func(id string, err error) {
		s.log().Error("server: a webhook was given up", "delivery", id, "error", err)
	})
	if err := s.webhooks.reach(c.Webhooks.Notify); err != nil {
		return nil, fmt.Errorf("%w: Webhooks.Notify must be a URL that Outbound allows (got %.200q): %w", ErrConfig, c.Webhooks.Notify, err)
	}
	s.metrics.init()
	s.handler = s.handlers()
	if err := s.addSystemAssistants(ctx, served); err != nil {
		return nil, fmt.Errorf("server: store the assistants: %w", err)
	}
	return s, nil
}

// storesOf returns the documents and the memory of a config, which by default are those that the
// store offers.
func storesOf(ctx context.Context, c Config) (docs document.Store, items memory.Store, err error) {
	docs, items = c.Documents, c.Memory
	store := checkpoint.Unwrap(c.Store)
	_, local := store.(*checkpoint.Memory)
	if docs == nil && local {
		docs = &document.Map{}
	}
	if items == nil && local {
		items = &memory.Map{}
	}
	if offers, ok := store.(interface {
		Documents(context.Context) (document.Store, error)
	}); ok && docs == nil {
		if docs, err = offers.Documents(ctx); err != nil {
			return nil, nil, fmt.Errorf("server: open the documents: %w", err)
		}
	}
	if items == nil {
		switch offers := store.(type) {
		case interface {
			Memory(context.Context) (memory.Store, error)
		}:
			if items, err = offers.Memory(ctx); err != nil {
				return nil, nil, fmt.Errorf("server: open the memory: %w", err)
			}
		case interface{ Memory() memory.Store }:
			items = offers.Memory()
		}
	}
	if docs == nil || items == nil {
		return nil, nil, fmt.Errorf("%w: Documents and Memory must be set, since the store %T does not offer them", ErrConfig, c.Store)
	}
	return docs, items, nil
}

// busOf returns the bus of a config, which by default is that of the store.
func busOf(ctx context.Context, c Config) (topic.Bus, error) {
	if c.Bus != nil {
		return c.Bus, nil
	}
	switch offers := checkpoint.Unwrap(c.Store).(type) {
	case interface {
		Bus(context.Context, int) (topic.Bus, error)
	}:
		bus, err := offers.Bus(ctx, 0)
		if err != nil {
			return nil, fmt.Errorf("server: open the bus: %w", err)
		}
		return bus, nil
	case interface{ Bus(int) topic.Bus }:
		return offers.Bus(0), nil
	case *checkpoint.Memory:
		return new(topic.Local), nil
	}
	return nil, fmt.Errorf("%w: Bus must be set, since the store %T does not offer one", ErrConfig, c.Store)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) now() time.Time {
	if s.config.Now != nil {
		return s.config.Now()
	}
	return time.Now()
}

func (s *Server) log() *slog.Logger {
	if s.config.Log != nil {
		return s.config.Log
	}
	return slog.Default()
}

// isForeign reports whether a page of another origin, which CORS does not allow, makes a request
// that may change something. A browser sends some of them without asking first, also to a server on
// its machine that needs no credentials. One that needs them gets none from such a page.
func (s *Server) isForeign(r *http.Request) bool {
	return s.config.Auth.Authenticate == nil && !s.config.CORS.allows(r.Header.Get("Origin")) && new(http.CrossOriginProtection).Check(r) != nil
}

// handlers returns the handler of all requests: the middleware, then the routes of the application,
// then those of the server.
func (s *Server) handlers() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.Handle(r.method+" "+r.path, s.handlerOf(r))
	}
	for _, r := range []route{{method: http.MethodGet, path: "/openapi.json", open: true, handle: getDocument}, {method: http.MethodGet, path: "/docs", open: true, handle: getDocs}} {
		mux.Handle(r.method+" "+r.path, s.handlerOf(r))
	}
	if s.config.AllowTruncate {
		r := route{method: http.MethodPost, path: "/internal/truncate", open: true, handle: truncate}
		mux.Handle(r.method+" "+r.path, s.handlerOf(r))
	}
	var pages http.Handler // other origins must not read them, so they are before CORS
	if s.config.Studio != StudioOff {
		pages = s.studioHandler()
	}
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r)
		w.Header().Set("X-Request-Id", id)
		r.Header.Set("X-Request-Id", id)
		if base := s.studioBase(); pages != nil && (r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/")) {
			pages.ServeHTTP(w, r)
			return
		}
		if s.config.CORS.answer(w, r) {
			return
		}
		if s.config.Routes != nil {
			if _, pattern := s.config.Routes.Handler(r); pattern != "" {
				s.config.Routes.ServeHTTP(w, r)
				return
			}
		}
		if s.isForeign(r) {
			c := &call{Request: r, w: w, server: s, dialect: s.dialect(r)}
			c.refuse(wire.Errorf(wire.CodeForbidden, "the origin of the page is not allowed"))
			return
		}
		if h, pattern := mux.Handler(r); pattern == "" {
			s.unrouted(w, r, h)
			return
		}
		mux.ServeHTTP(w, r)
	})
	if s.config.Middleware != nil {
		return s.config.Middleware(own)
	}
	return own
}
