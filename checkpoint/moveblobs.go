package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// mover brings the blobs to which the commits of a thread refer to the blobs of another store.
type mover struct {
	to     Store
	thread string // in the other store
	// open returns the content of a blob; nil where put was called with it before.
	open func(ctx context.Context, hash string) (io.ReadCloser, error)
	// names has the hash of each blob in the other store. Under other keys it is another hash.
	names map[string]string
}

// move brings the blobs of a commit, whose values are unsealed, and puts their hashes into it.
func (m *mover) move(ctx context.Context, c *Commit) error {
	hashes, err := hashesIn(c)
	if err != nil {
		return err
	}
	renamed := false
	for _, h := range hashes {
		if err := m.bring(ctx, h); err != nil {
			return fmt.Errorf("checkpoint: thread %q, commit %d: %w", c.Thread, c.Seq(), err)
		}
		renamed = renamed || m.names[h] != h
	}
	if !renamed {
		return nil
	}
	if c.Header, err = m.header(c.Header); err != nil {
		return err
	}
	for i := range c.Blobs {
		c.Blobs[i].Data = m.rename(c.Blobs[i].Data)
	}
	for i := range c.Pending {
		c.Pending[i].Data = m.rename(c.Pending[i].Data)
	}
	return nil
}

// bring brings one blob, unless the other store has it.
func (m *mover) bring(ctx context.Context, hash string) error {
	if m.names[hash] != "" {
		return nil
	}
	blobs := BlobsIn(m.to)
	if blobs == nil {
		return fmt.Errorf("%w: it refers to the blob %.16s", ErrNoBlobs, hash)
	}
	err := blobs.Claim(ctx, m.thread, []string{hash})
	switch {
	case err == nil:
		m.name(hash, hash)
		return nil
	case !errors.Is(err, ErrBlobNotFound) || m.open == nil:
		return err
	}
	r, err := m.open(ctx, hash)
	if err != nil {
		return err
	}
	defer r.Close()
	return m.put(ctx, hash, r)
}

// put stores the content of a blob in the other store.
func (m *mover) put(ctx context.Context, hash string, r io.Reader) error {
	blobs := BlobsIn(m.to)
	if blobs == nil {
		return fmt.Errorf("%w: the thread refers to the blob %.16s", ErrNoBlobs, hash)
	}
	ref, err := blobs.Of(m.thread).Put(ctx, r)
	if err == nil {
		m.name(hash, ref.Hash)
	}
	return err
}

// giveUp ends the claims of the blobs that were brought for a thread, which does not exist.
func (m *mover) giveUp(ctx context.Context) error {
	if len(m.names) == 0 {
		return nil
	}
	_, err := BlobsIn(m.to).Release(ctx, m.thread, -1, func(ctx context.Context) (map[string]bool, error) {
		return BlobsUsed(ctx, m.to, m.thread) // nothing, unless another writer has begun the thread
	})
	return err
}

func (m *mover) name(old, hash string) {
	if m.names == nil {
		m.names = map[string]string{}
	}
	m.names[old] = hash
}

// rename puts the new hashes into a value.
func (m *mover) rename(value []byte) []byte {
	for _, h := range appendBlobs(nil, value) {
		if now := m.names[h]; now != "" && now != h {
			value = bytes.ReplaceAll(value, []byte(blobMark+h), []byte(blobMark+now))
		}
	}
	return value
}

// header is rename for a record, whose trace is encoded once more.
func (m *mover) header(data []byte) ([]byte, error) {
	data = m.rename(data)
	trace, err := traceOf(data)
	if err != nil || len(trace) == 0 {
		return data, err
	}
	for i := range trace {
		trace[i].Data = m.rename(trace[i].Data)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if members["trace"], err = json.Marshal(trace); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// traceOf returns the trace of a record in JSON.
func traceOf(header []byte) ([]Entry, error) {
	if !bytes.Contains(header, []byte(`"trace":`)) {
		return nil, nil
	}
	var rec struct {
		Trace []Entry `json:"trace"`
	}
	err := json.Unmarshal(header, &rec)
	return rec.Trace, err
}

// hashesIn returns the hashes of the blobs to which an unsealed commit refers.
func hashesIn(c *Commit) ([]string, error) {
	hashes, err := hashesInRecord(nil, c.Header)
	for _, b := range c.Blobs {
		hashes = appendBlobs(hashes, b.Data)
	}
	for _, e := range c.Pending {
		hashes = appendBlobs(hashes, e.Data)
	}
	return hashes, err
}

// hashesInRecord appends the hashes of the blobs to which a record in JSON refers.
func hashesInRecord(hashes []string, header []byte) ([]string, error) {
	hashes = appendBlobs(hashes, header)
	trace, err := traceOf(header)
	for _, e := range trace {
		hashes = appendBlobs(hashes, e.Data)
	}
	return hashes, err
}
