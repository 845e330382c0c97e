package server

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/server/wire"
)

// apiVersion is the version of the LangGraph server whose interface this is.
const apiVersion = "0.16.7"

func getOK(c *call) error {
	check, err := c.flag("check_db")
	if err != nil {
		return err
	}
	status := struct {
		OK     bool   `json:"ok"`
		Reason string `json:"reason,omitempty"`
	}{OK: true}
	if check {
		if err := c.server.checkStore(c.Context()); err != nil {
			c.server.log().ErrorContext(c.Context(), "server: the store is not available", "error", err)
			status.OK, status.Reason = false, "the store is not available"
		}
	}
	if c.server.draining.Load() {
		status.OK, status.Reason = false, "the server stops"
	}
	data, err := encode(status)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if !status.OK {
		code = http.StatusServiceUnavailable
	}
	return c.write(code, "application/json", data)
}

// checkStore reads a commit and a document that need not exist.
func (s *Server) checkStore(ctx context.Context) error {
	if _, err := s.config.Store.Load(ctx, checkpoint.Key{Thread: "weft.check"}, 0); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	_, _, err := s.threads.get(ctx, "weft.check")
	return err
}

func getInfo(c *call) error {
	type flags struct {
		Assistants bool `json:"assistants"`
		Crons      bool `json:"crons"`
		LangSmith  bool `json:"langsmith"`
		Replicas   bool `json:"langsmith_tracing_replicas"`
	}
	type host struct {
		Kind string `json:"kind"`
	}
	return c.answer(struct {
		Version    string `json:"version"`
		APIVersion string `json:"langgraph_api_version"`
		Context    string `json:"context"`
		Flags      flags  `json:"flags"`
		Host       host   `json:"host"`
	}{c.server.config.Version, apiVersion, "weft", flags{Assistants: true}, host{"self-hosted"}})
}

// truncate removes whole kinds of data, for test suites. It answers only callers on this machine.
func truncate(c *call) error {
	address, _, err := net.SplitHostPort(c.RemoteAddr)
	if ip := net.ParseIP(address); err != nil || ip == nil || !ip.IsLoopback() {
		return wire.Errorf(wire.CodeNotFound, "Not Found")
	}
	var q struct {
		Runs         bool `json:"runs"`
		Threads      bool `json:"threads"`
		Assistants   bool `json:"assistants"`
		Store        bool `json:"store"`
		Checkpointer bool `json:"checkpointer"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	s, ctx := c.server, c.Context()
	if q.Runs {
		if err := s.deleteRuns(ctx); err != nil {
			return err
		}
	}
	if q.Checkpointer {
		if err := s.deleteCommits(ctx); err != nil {
			return err
		}
	}
	if q.Threads {
		if err := s.threads.docs.Clear(ctx, s.threads.place); err != nil {
			return err
		}
	}
	if q.Assistants {
		for _, collection := range []string{s.assistants.place.Collection, versionCollection} {
			if err := s.assistants.docs.Clear(ctx, document.At(collection, "")); err != nil {
				return err
			}
		}
		if err := s.addSystemAssistants(ctx, s.served.Load()); err != nil {
			return err
		}
	}
	if q.Store {
		if err := s.deleteItems(ctx); err != nil {
			return err
		}
	}
	return c.noContent()
}

// deleteCommits removes the commits of the threads that have a record.
func (s *Server) deleteCommits(ctx context.Context) error {
	return s.threads.each(ctx, func(r stored[thread]) error { return s.config.Store.Delete(ctx, r.record.ThreadID) })
}

// deleteRuns removes the runs of all threads, and their logs. Those that have not ended are
// cancelled, and awaited.
func (s *Server) deleteRuns(ctx context.Context) error {
	threads, err := s.queue.Threads(ctx)
	for i := 0; i < len(threads) && err == nil; i++ {
		if err = s.removeRuns(ctx, threads[i]); err == nil {
			err = eventlog.Log{Bus: s.bus}.Delete(ctx, threads[i])
		}
	}
	return err
}

func (s *Server) deleteItems(ctx context.Context) error {
	var list []memory.Item
	for f, err := range memory.All(ctx, s.memory, memory.Query{Limit: memory.MaxLimit}) {
		if err != nil {
			return err
		}
		list = append(list, f.Item)
	}
	for _, i := range list {
		if err := s.memory.Delete(ctx, i.Namespace, i.Key); err != nil {
			return err
		}
	}
	return nil
}
