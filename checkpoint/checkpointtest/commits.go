package checkpointtest

import (
	"bytes"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// key names a chain; without a namespace it is the root.
func key(thread string, namespace ...string) checkpoint.Key {
	k := checkpoint.Key{Thread: thread}
	for _, ns := range namespace {
		k.Namespace += ns
	}
	return k
}

// step returns commit number seq of a chain whose only field is new in each commit.
func step(k checkpoint.Key, seq uint64) checkpoint.Commit {
	name := fmt.Sprintf("%s|%s|%d", k.Thread, k.Namespace, seq)
	return checkpoint.Commit{
		Key: k, ID: fmt.Sprintf("id %d", seq), Head: seq - 1, Header: []byte("header of " + name),
		Refs:  []checkpoint.Ref{{Field: "value", Base: seq}},
		Blobs: []checkpoint.Blob{{Field: "value", Base: seq, Data: []byte("value of " + name)}},
	}
}

// stored returns the snapshot that Load returns for c, if its blobs are those that it refers to.
func stored(c checkpoint.Commit, head uint64, pending ...checkpoint.Entry) checkpoint.Snapshot {
	return checkpoint.Snapshot{Key: c.Key, Seq: c.Seq(), Head: head, ID: c.ID, Labels: c.Labels, Header: c.Header, Refs: c.Refs, Blobs: c.Blobs, Pending: pending}
}

// listed returns what listings say about c.
func listed(c checkpoint.Commit, head uint64, pending ...checkpoint.Entry) checkpoint.Snapshot {
	snap := stored(c, head, pending...)
	snap.Blobs = nil
	return snap
}

// commitSteps makes the commits 1 to n of a chain.
func (p *probe) commitSteps(k checkpoint.Key, n uint64) {
	p.Helper()
	for seq := range n {
		p.commit(step(k, seq+1))
	}
}

// everyByte has each byte once, so it is neither text nor UTF-8.
func everyByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func commitThenLoad(p *probe) {
	k := key("thread")
	c := checkpoint.Commit{
		Key: k, ID: "attempt-1", Header: everyByte(),
		Refs: []checkpoint.Ref{{Field: "z", Base: 1}, {Field: "empty", Base: 1}, {Field: "a", Base: 1}, {Field: "big", Base: 1}},
		Blobs: []checkpoint.Blob{
			{Field: "z", Base: 1, Data: everyByte()},
			{Field: "empty", Base: 1, Data: []byte{}},
			{Field: "a", Base: 1, Data: []byte("a\x00b")},
			{Field: "big", Base: 1, Data: bytes.Repeat(everyByte(), 4096)},
		},
	}
	p.commit(c)
	p.same("a commit is loaded as it was made: header and bytes verbatim, in the order of Refs", p.load(k, 1), stored(c, 1))
	p.same("Load of 0 is Load of the head", p.load(k, 0), stored(c, 1))

	reordered := checkpoint.Commit{Key: k, ID: "attempt-2", Head: 1, Refs: []checkpoint.Ref{c.Refs[2], c.Refs[0]}}
	p.commit(reordered)
	want := stored(reordered, 2)
	want.Blobs = []checkpoint.Blob{c.Blobs[2], c.Blobs[0]}
	p.same("Refs keep their order, Blobs follow it, and a field without a Ref is gone", p.load(k, 0), want)

	empty := checkpoint.Commit{Key: k, ID: "attempt-3", Head: 2}
	p.commit(empty)
	p.same("a commit may be empty", p.load(k, 0), stored(empty, 3))
}

func loadAtOlderCommits(p *probe) {
	k := key("thread")
	first := checkpoint.Commit{
		Key: k, ID: "1",
		Refs:  []checkpoint.Ref{{Field: "same", Base: 1}, {Field: "changed", Base: 1}},
		Blobs: []checkpoint.Blob{{Field: "same", Base: 1, Data: []byte("as ever")}, {Field: "changed", Base: 1, Data: []byte("old")}},
	}
	second := checkpoint.Commit{
		Key: k, ID: "2", Head: 1,
		Refs:  []checkpoint.Ref{{Field: "same", Base: 1}, {Field: "changed", Base: 2}},
		Blobs: []checkpoint.Blob{{Field: "changed", Base: 2, Data: []byte("new")}},
	}
	p.commit(first)
	p.commit(second)
	want := stored(second, 2)
	want.Blobs = []checkpoint.Blob{first.Blobs[0], second.Blobs[0]}
	p.same("a Ref to an older commit brings that commit's value", p.load(k, 2), want)
	p.same("an older commit keeps its values", p.load(k, 1), stored(first, 2))
}

func baseAndChunks(p *probe) {
	const n = 40
	k := key("thread")
	blob := func(chunk int) checkpoint.Blob {
		return checkpoint.Blob{Field: "log", Base: 1, Chunk: chunk, Data: fmt.Appendf(nil, "chunk %d", chunk)}
	}
	commit := func(chunk int) checkpoint.Commit {
		return checkpoint.Commit{
			Key: k, ID: fmt.Sprint(chunk), Head: uint64(chunk),
			Refs: []checkpoint.Ref{{Field: "log", Base: 1, Chunks: chunk}}, Blobs: []checkpoint.Blob{blob(chunk)},
		}
	}
	for i := range n {
		p.commit(commit(i))
	}
	for i := range n {
		want := stored(commit(i), n)
		want.Blobs = nil
		for chunk := range i + 1 {
			want.Blobs = append(want.Blobs, blob(chunk))
		}
		p.same("a Ref brings the base and the chunks 1 to Chunks, in order and no other", p.load(k, uint64(i)+1), want)
	}

	rebased := checkpoint.Commit{
		Key: k, ID: "rebased", Head: n,
		Refs:  []checkpoint.Ref{{Field: "log", Base: n + 1, Chunks: 1}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: n + 1, Data: []byte("base")}, {Field: "log", Base: n + 1, Chunk: 1, Data: []byte("more")}},
	}
	p.commit(rebased)
	p.same("a new base starts again at chunk 0", p.load(k, 0), stored(rebased, n+1))
}

func missingBlobIsDamage(p *probe) {
	k := key("thread")
	c := step(k, 1)
	c.Refs = append(c.Refs, checkpoint.Ref{Field: "value", Base: 1, Chunks: 1}, checkpoint.Ref{Field: "nowhere", Base: 1})
	p.commit(c)
	_, err := p.store.Load(p.Context(), k, 0)
	p.fails("a Load that cannot bring every blob fails, it does not bring less", err, checkpoint.ErrCorrupt)
}

func notFound(p *probe) {
	k := key("thread")
	p.commitSteps(k, 2)
	for _, miss := range []struct {
		rule string
		key  checkpoint.Key
		seq  uint64
	}{
		{"an unknown thread is not found", key("other"), 0},
		{"an unknown thread is not found at any number", key("other"), 1},
		{"an unknown namespace is not found", key("thread", "sub"), 0},
		{"a number after the head is not found", k, 3},
		{"the greatest number is not found", k, 1<<64 - 1},
	} {
		_, err := p.store.Load(p.Context(), miss.key, miss.seq)
		p.fails(miss.rule, err, checkpoint.ErrNotFound)
	}
	p.same("an unknown thread has no history", p.history(key("other"), checkpoint.Query{}), []checkpoint.Snapshot{})
}
