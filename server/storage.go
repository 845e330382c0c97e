package server

import (
	"context"
	"errors"

	"github.com/weftrun/weft/checkpoint"
)

// storage is the stored size of a thread.
type storage struct {
	ThreadID    string       `json:"thread_id"`
	Total       int          `json:"total_bytes"`
	Checkpoints counted      `json:"checkpoints"`
	Channels    channelSizes `json:"channel_values"`
	Pending     counted      `json:"pending_writes"`
}

type counted struct {
	Count int `json:"count"`
	Bytes int `json:"bytes"`
}

type channelSizes struct {
	counted
	ByChannel map[string]channelSize `json:"by_channel"`
}

type channelSize struct {
	Versions int `json:"versions"`
	Bytes    int `json:"bytes"`
}

func threadStorage(c *call) error {
	t, err := c.thread("read")
	if err != nil {
		return err
	}
	s := storage{ThreadID: t.ThreadID, Channels: channelSizes{ByChannel: map[string]channelSize{}}}
	if err := s.measure(c.Context(), c.server.config.Store); err != nil {
		return err
	}
	return c.answer(s)
}

// measure counts the commits and the versions of the fields in all namespaces, and adds the sizes
// of the newest commits.
func (s *storage) measure(ctx context.Context, store checkpoint.Store) error {
	report, err := checkpoint.Sizes(ctx, store, s.ThreadID)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil // it has no commits
	}
	if err != nil {
		return err
	}
	for _, f := range report.Fields {
		size := s.Channels.ByChannel[f.Field]
		size.Bytes += f.Bytes
		s.Channels.ByChannel[f.Field] = size
	}
	s.Channels.Bytes = report.Bytes
	spaces, err := store.Namespaces(ctx, s.ThreadID)
	if err != nil {
		return err
	}
	for _, namespace := range spaces {
		if err := s.count(ctx, store, checkpoint.Key{Thread: s.ThreadID, Namespace: namespace}); err != nil {
			return err
		}
	}
	s.Total = s.Checkpoints.Bytes + s.Channels.Bytes + s.Pending.Bytes
	return nil
}

// count adds the commits, the versions of fields and the pending writes of a namespace.
func (s *storage) count(ctx context.Context, store checkpoint.Store, key checkpoint.Key) error {
	seen := map[checkpoint.Ref]bool{}
	for snap, err := range store.History(ctx, key, checkpoint.Query{}) {
		if err != nil {
			return err
		}
		s.Checkpoints.Count++
		s.Checkpoints.Bytes += len(snap.Header)
		for _, ref := range snap.Refs {
			if !seen[ref] {
				seen[ref] = true
				s.Channels.Count++
				size := s.Channels.ByChannel[ref.Field]
				size.Versions++
				s.Channels.ByChannel[ref.Field] = size
			}
		}
		for _, e := range snap.Pending {
			s.Pending.Count++
			s.Pending.Bytes += len(e.Data)
		}
	}
	return nil
}
