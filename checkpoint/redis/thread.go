package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// Namespaces implements checkpoint.Store.
func (s *Store) Namespaces(ctx context.Context, thread string) ([]string, error) {
	reply, err := s.call(ctx, namespacesScript, s.key(thread), []any{origin(thread)})
	if err != nil {
		return nil, fmt.Errorf("thread %q: %w", thread, err)
	}
	a := toAnswer(reply)
	if err := a.refusal(checkpoint.Key{Thread: thread}, 0); err != nil {
		return nil, err
	}
	var names []string
	for _, name := range a.list(0) {
		text, _ := name.(string)
		names = append(names, text)
	}
	slices.Sort(names)
	return names, nil
}

// Delete implements checkpoint.Store. A lease ends with its thread, and its fence stays
// invalid, since fences are never made twice.
func (s *Store) Delete(ctx context.Context, thread string) error {
	ctx = brief.OneCall(ctx)
	if _, err := s.notify(ctx, s.key(thread), "unlink", s.key(thread)); err != nil {
		return fmt.Errorf("thread %q: %w", thread, err)
	}
	if err := s.unlist(ctx, thread); err != nil {
		return fmt.Errorf("thread %q: off the index: %w", thread, err)
	}
	return nil
}

// Drop implements checkpoint.Dropper. The server works on nothing else meanwhile, about
// a microsecond for each commit and blob: drop some thousands at a time. With All it is
// that for each commit and blob of the thread.
func (s *Store) Drop(ctx context.Context, d checkpoint.Drop) error {
	if err := d.Check(); err != nil {
		return err
	}
	ns := encode(d.Namespace)
	commits := slices.DeleteFunc(slices.Clone(d.Commits), func(seq uint64) bool { return seq == 0 || seq > maxNumber })
	args := make([]any, 0, 7+len(commits)+len(d.Blobs))
	all := "0"
	if d.All {
		all = "1"
	}
	args = append(args, origin(d.Thread), ns, decimal(d.Head), d.Fence, all, d.Namespace, len(commits))
	for _, seq := range commits {
		args = append(args, decimal(seq))
	}
	for _, b := range d.Blobs {
		args = append(args, blobField(ns, b.Field, b.Base, b.Chunk))
	}
	reply, err := s.call(ctx, dropScript, s.key(d.Thread), args)
	if err != nil {
		return fmt.Errorf("thread %q, namespace %q: %w", d.Thread, d.Namespace, err)
	}
	return d.Result(toAnswer(reply).refusal(d.Key, d.Head))
}

// Expire implements checkpoint.Expirer. It is the server's own expiry, of the one key
// that is all of a thread.
func (s *Store) Expire(ctx context.Context, thread string, ttl time.Duration) error {
	if err := checkpoint.CheckTTL(ttl); err != nil {
		return err
	}
	reply, err := s.call(ctx, expireScript, s.key(thread), []any{origin(thread), milliseconds(ttl)})
	if err != nil {
		return fmt.Errorf("thread %q: %w", thread, err)
	}
	return toAnswer(reply).refusal(checkpoint.Key{Thread: thread}, 0)
}
