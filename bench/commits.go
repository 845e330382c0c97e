package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/weftrun/weft/checkpoint"
)

// commitAlone is the runner that gives a store the commits of such a run without the run.
const commitAlone = "a commit alone"

// commitSteps commits n steps of 1 KiB to a new thread each time. A plain write has as many bytes.
func commitSteps(ctx context.Context, n int, g ground) (Job, error) {
	opened, err := g.open(ctx)
	if err != nil {
		return Job{}, err
	}
	store, used := &counting{backend: opened}, &threads{}
	const chunk = 1024
	header, data := bytes.Repeat([]byte("h"), commitBytes-chunk), bytes.Repeat([]byte("x"), chunk)
	return Job{
		Run: func(ctx context.Context) error {
			k := checkpoint.Key{Thread: used.next()}
			for i := range n {
				if err := store.Commit(ctx, checkpoint.Commit{
					Key: k, ID: unique(), Head: uint64(i), Header: header,
					Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: i}},
					Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: i, Data: data}},
				}); err != nil {
					return err
				}
			}
			return nil
		},
		Counts: store.counts,
		Close:  func() { _ = errors.Join(used.deleteFrom(store), store.Close()) },
	}, nil
}
