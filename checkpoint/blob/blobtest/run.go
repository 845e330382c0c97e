package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/internal/testreport"
)

// Run judges a Table. Each sub-test calls open for an empty table of its own.
func Run(t *testing.T, open func(t testing.TB) blob.Table) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) { r.check(newProbe(t, open(t))) })
	}
	t.Run("Kills", func(t *testing.T) { kills(t, open) })
}

// rule is a group of demands on a table.
type rule struct {
	name  string
	check func(p *probe)
}

var rules = []rule{
	{"Content", content},
	{"Once", once},
	{"Unfinished", unfinished},
	{"Claims", claims},
	{"Release", release},
	{"Owners", owners},
	{"Missing", missing},
	{"Races", races},
	{"Contexts", contexts},
	{"Encrypted", encrypted},
}

// probe is a table under test, with a clock that only the rule moves.
type probe struct {
	testreport.Probe
	table blob.Table
	blobs *blob.Store
	now   time.Time
}

func newProbe(t testing.TB, table blob.Table) *probe {
	p := &probe{Probe: testreport.Probe{TB: t}, table: table, now: time.UnixMilli(1_800_000_000_000)}
	p.blobs = p.over(table)
	return p
}

// over returns a store with the clock of the probe.
func (p *probe) over(table blob.Table) *blob.Store {
	s := blob.Over(table)
	s.Now = func() time.Time { return p.now }
	return s
}

// text returns n bytes that differ from one seed to another.
func text(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
	return b
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (p *probe) put(owner string, data []byte) blob.Ref {
	p.Helper()
	ref, err := p.blobs.Put(p.Context(), owner, bytes.NewReader(data))
	p.Done("a content can be put", err)
	return ref
}

// read returns a content.
func read(ctx context.Context, s *blob.Store, ref blob.Ref) ([]byte, error) {
	r, err := s.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(struct{ io.Reader }{r}) // by Read and not WriteTo
}

// has demands that a content is stored.
func (p *probe) has(rule string, ref blob.Ref, want []byte) {
	p.Helper()
	got, err := read(p.Context(), p.blobs, ref)
	if err != nil || !bytes.Equal(got, want) {
		p.Errorf("rule: %s\n got: %d bytes, error %v\nwant: the %d bytes that were put", rule, len(got), err, len(want))
	}
}

func (p *probe) gone(rule string, ref blob.Ref) {
	p.Helper()
	_, err := read(p.Context(), p.blobs, ref)
	p.Fails(rule, err, blob.ErrNotFound)
}

// none is a collection to which an owner refers to nothing.
func none(context.Context) (map[string]bool, error) { return nil, nil }

func content(p *probe) {
	for i, n := range []int{0, 1, 1000, blob.ChunkSize - 1, blob.ChunkSize, blob.ChunkSize + 1, 2*blob.ChunkSize + 7} {
		data := text(n, i)
		ref := p.put("owner", data)
		p.Same("the name of a content is its SHA-256", ref.Hash, hashOf(data))
		p.Same("a Ref has the size", ref.Size, n)
		p.has("what was put is read", ref, data)
		var w bytes.Buffer
		r, err := p.blobs.Open(p.Context(), ref)
		p.Done("a content can be opened", err)
		_, err = io.Copy(&w, r)
		p.Done("a content can be copied", errors.Join(err, r.Close()))
		p.Same("io.Copy copies the content", hashOf(w.Bytes()), ref.Hash)
		_, err = r.Read(make([]byte, 1))
		if err == nil || errors.Is(err, io.EOF) {
			p.Errorf("rule: a closed reader returns an error\n got: %v", err)
		}
		b, err := p.blobs.Stat(p.Context(), ref.Hash)
		p.Done("a content has a Stat", err)
		p.Same("a Stat has the size", b.Size, n)
	}
}

func once(p *probe) {
	data := text(blob.ChunkSize+5, 1)
	a, b := p.put("a", data), p.put("b", data)
	p.Same("the same content has the same name", a, b)
	p.put("a", data)
	p.now = p.now.Add(time.Hour)
	freed, err := p.blobs.Release(p.Context(), "a", -1, none)
	p.Done("claims can be released", err)
	p.Same("a content that another owner claims stays", freed, blob.Freed{})
	p.has("a content stays as long as it is claimed", b, data)
	freed, err = p.blobs.Release(p.Context(), "b", -1, none)
	p.Done("claims can be released", err)
	p.Same("the last claim frees the content once", freed, blob.Freed{Blobs: 1, Bytes: int64(len(data))})
	p.gone("a content without claims is gone", a)
	p.Same("a content can be put again", p.put("a", data), a)
	p.has("a content that was put again is there", a, data)
}

func unfinished(p *probe) {
	ctx, data := p.Context(), text(10, 1)
	fails := errors.New("the source fails")
	_, err := p.blobs.Put(ctx, "a", io.MultiReader(bytes.NewReader(text(2*blob.ChunkSize, 2)), failing{fails}))
	p.Fails("Put returns the error of its source", err, fails)
	for owner, err := range p.blobs.Owners(ctx) {
		p.Errorf("rule: a Put that failed claims nothing\n got: %q, %v", owner, err)
	}
	b := blob.Stat{Hash: hashOf(data), Size: 10, Chunks: 1}
	old, young := begun(p.now.Add(-time.Hour), "OLD"), begun(p.now, "YOUNG")
	for _, u := range []string{old, young} {
		p.Done("a chunk can be staged", p.table.Stage(ctx, u, 0, data))
	}
	p.gone("an upload is not visible", blob.Ref{Hash: b.Hash})
	p.Done("a sweep succeeds", p.table.Sweep(ctx, p.now.Add(-time.Minute)))
	err = p.table.Finish(ctx, old, b, blob.Claim{Owner: "a", Hash: b.Hash, At: p.now})
	p.Fails("an upload that a sweep has removed cannot be finished", err, blob.ErrNotFound)
	p.gone("a Finish that failed stores nothing", blob.Ref{Hash: b.Hash})
	for range 2 {
		p.Done("a young upload can be finished, and again", p.table.Finish(ctx, young, b, blob.Claim{Owner: "a", Hash: b.Hash, At: p.now}))
	}
	p.Done("a sweep and a discard leave blobs as they are", errors.Join(p.table.Sweep(ctx, p.now.Add(time.Hour)), p.table.Discard(ctx, young)))
	p.has("a finished upload is the content", blob.Ref{Hash: b.Hash}, data)
}

// begun returns the name of an upload that was begun at a time.
func begun(at time.Time, name string) string { return fmt.Sprintf("%013d-%s", at.UnixMilli(), name) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func claims(p *probe) {
	ctx := p.Context()
	a, b := p.put("a", text(3, 1)), p.put("a", text(4, 2))
	first := p.now
	p.now = p.now.Add(time.Minute)
	err := p.blobs.Claim(ctx, "b", []string{a.Hash, strings.Repeat("0", 64), b.Hash})
	p.Fails("a claim of a missing content is an error", err, blob.ErrNotFound)
	var lacks *blob.MissingError
	if !errors.As(err, &lacks) || !slices.Equal(lacks.Hashes, []string{strings.Repeat("0", 64)}) {
		p.Errorf("rule: the error names what is missing\n got: %v", err)
	}
	p.Done("a claim is renewed", p.blobs.Claim(ctx, "a", []string{a.Hash}))
	want := map[string]string{}
	for _, c := range []blob.Claim{{Owner: "a", Hash: a.Hash, Size: 3, At: p.now}, {Owner: "a", Hash: b.Hash, Size: 4, At: first},
		{Owner: "b", Hash: a.Hash, Size: 3, At: p.now}, {Owner: "b", Hash: b.Hash, Size: 4, At: p.now}} {
		want[c.Owner+c.Hash] = fmt.Sprint(c.Owner, c.Hash, c.Size, c.At.UnixMilli())
	}
	for _, owner := range []string{"a", "b", "c"} {
		last := ""
		for c, err := range p.blobs.Claims(ctx, owner) {
			p.Done("claims are listed", err)
			p.Same("a claim has its owner, size and newest time", fmt.Sprint(c.Owner, c.Hash, c.Size, c.At.UnixMilli()), want[owner+c.Hash])
			if delete(want, owner+c.Hash); c.Hash <= last {
				p.Errorf("rule: claims are in order of the hash")
			}
			last = c.Hash
		}
	}
	p.Same("all claims are listed", len(want), 0)
	for _, ref := range []blob.Ref{a, b} {
		n, err := p.blobs.Length(ctx, ref.Hash)
		p.Done("a length is read", err)
		p.Same("a length is that of the content", n, ref.Size)
	}
	for _, hash := range []string{a.Hash, b.Hash} {
		c, ok, err := p.blobs.Claimed(ctx, "a", hash)
		p.Done("a claim is looked up", err)
		p.Same("a claim is found by its owner and hash", fmt.Sprint(ok, c.Hash), fmt.Sprint(true, hash))
		_, ok, err = p.blobs.Claimed(ctx, "c", hash)
		p.Done("the claim of another owner is looked up", err)
		p.Same("the claim of another owner is not found", ok, false)
	}
	page, err := p.table.Claims(ctx, "b", min(a.Hash, b.Hash), 1)
	p.Done("a page of claims is read", err)
	p.Same("a page begins after a hash", len(page) == 1 && page[0].Hash == max(a.Hash, b.Hash), true)
}

func release(p *probe) {
	ctx := p.Context()
	a, b, c := p.put("a", text(3, 1)), p.put("a", text(4, 2)), p.put("a", text(5, 3))
	p.now = p.now.Add(time.Hour)
	p.put("a", text(5, 3)) // renews the claim
	freed, err := p.blobs.Release(ctx, "a", 2*time.Hour, none)
	p.Done("a release within the grace", err)
	p.Same("nothing is released within the grace", freed, blob.Freed{})
	freed, err = p.blobs.Release(ctx, "a", 30*time.Minute, func(context.Context) (map[string]bool, error) {
		return map[string]bool{a.Hash: true}, nil
	})
	p.Done("a release after the grace", err)
	p.Same("what is neither used nor young is freed", freed, blob.Freed{Blobs: 1, Bytes: 4})
	p.has("what is used stays", a, text(3, 1))
	p.gone("what is not used is gone", b)
	p.has("what was renewed stays", c, text(5, 3))
	_, err = p.table.Release(ctx, "another", []string{a.Hash}, p.now.Add(time.Hour), p.now)
	p.Done("an owner without a claim releases nothing", err)
	p.has("a release without a claim frees nothing that is claimed", a, text(3, 1))
}

func owners(p *probe) {
	ctx := p.Context()
	names := []string{"a", "b/../c", "ü\x00", strings.Repeat("x", blob.MaxOwner), "."}
	ref := blob.Ref{}
	for _, name := range names {
		ref = p.put(name, text(9, 9))
	}
	var got []string
	for owner, err := range p.blobs.Owners(ctx) {
		p.Done("owners are listed", err)
		got = append(got, owner)
	}
	slices.Sort(got)
	slices.Sort(names)
	p.Same("all owners are listed once", fmt.Sprintf("%q", got), fmt.Sprintf("%q", names))
	paged, after := 0, ""
	for {
		page, err := p.table.Owners(ctx, after, 2)
		p.Done("owners are paged", err)
		if paged += len(page); len(page) < 2 {
			break
		}
		after = page[1]
	}
	p.Same("pages have all owners", paged, len(names))
	for _, name := range names {
		p.has("a content stays until the last owner releases it", ref, text(9, 9))
		_, err := p.blobs.Release(ctx, name, -1, none)
		p.Done("an owner releases its claims", err)
	}
	p.gone("the last owner frees the content", ref)
	for owner := range p.blobs.Owners(ctx) {
		p.Errorf("rule: an owner without claims is not listed\n got: %.80q", owner)
	}
	for _, bad := range []string{"", strings.Repeat("x", blob.MaxOwner+1), "\xff"} {
		_, err := p.blobs.Put(ctx, bad, strings.NewReader("x"))
		p.Fails("the name of an owner is checked", err, blob.ErrOwner)
	}
}

func missing(p *probe) {
	for _, hash := range []string{"", "x", strings.Repeat("A", 64), strings.Repeat("0", 63) + "/"} {
		_, err := p.blobs.Open(p.Context(), blob.Ref{Hash: hash})
		p.Fails("a hash is checked", err, blob.ErrOwner)
	}
	p.gone("a content that was never put is not found", blob.Ref{Hash: strings.Repeat("0", 64)})
	ref := p.put("a", text(3, 1))
	_, err := p.table.Read(p.Context(), ref.Hash, 1)
	p.Fails("a chunk after the last is not found", err, blob.ErrNotFound)
}

// races puts and releases one content from many goroutines. An owner that has a claim always reads
// the content.
func races(p *probe) {
	const workers, rounds = 4, 8
	data := text(100, 1)
	hash := hashOf(data)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			owner, ctx := fmt.Sprint("owner ", w), p.Context()
			for range rounds {
				ref, err := p.blobs.Put(ctx, owner, bytes.NewReader(data))
				if err != nil {
					p.Errorf("rule: Put succeeds beside others\n got: %v", err)
					return
				}
				if got, err := read(ctx, p.blobs, ref); err != nil || !bytes.Equal(got, data) {
					p.Errorf("rule: a content that is claimed can be read\n got: %d bytes, error %v", len(got), err)
				}
				if _, err := p.table.Release(ctx, owner, []string{hash}, p.now.Add(time.Hour), p.now); err != nil {
					p.Errorf("rule: Release succeeds beside others\n got: %v", err)
				}
			}
		})
	}
	wg.Wait()
	p.gone("at the end the content is gone", blob.Ref{Hash: hash})
}

func contexts(p *probe) {
	ctx, cancel := context.WithCancel(p.Context())
	ref := p.put("a", text(3, 1))
	cancel()
	_, err := p.blobs.Put(ctx, "a", strings.NewReader("x"))
	p.Fails("Put observes its context", err, context.Canceled)
	_, err = read(ctx, p.blobs, ref)
	p.Fails("Open observes its context", err, context.Canceled)
	p.Fails("Claim observes its context", p.blobs.Claim(ctx, "a", []string{ref.Hash}), context.Canceled)
	p.Fails("Sweep observes its context", p.blobs.Sweep(ctx, 0), context.Canceled)
}

func encrypted(p *probe) {
	ctx, data := p.Context(), text(blob.ChunkSize+9, 1)
	ring := map[string][]byte{"old": checkpoint.NewKey(), "new": checkpoint.NewKey()}
	sealed := func(current string, ids ...string) *blob.Store {
		k := &checkpoint.Keys{Current: current, Ring: map[string][]byte{}}
		for _, id := range append(ids, current) {
			k.Ring[id] = ring[id]
		}
		s, err := p.blobs.Sealed(k)
		p.Done("keys are valid", err)
		return s
	}
	older, both := sealed("old"), sealed("new", "old")
	ref, err := older.Put(ctx, "a", bytes.NewReader(data))
	p.Done("a content can be encrypted", err)
	if ref.Hash == hashOf(data) {
		p.Errorf("rule: the name of an encrypted content does not reveal it\n got: its SHA-256")
	}
	p.Same("a Ref has the size of the content", ref.Size, len(data))
	again, err := older.Put(ctx, "b", bytes.NewReader(data))
	p.Done("a content can be encrypted twice", err)
	p.Same("under one key a content is stored once", again, ref)
	for n := range 2 {
		chunk, err := p.table.Read(ctx, ref.Hash, n)
		p.Done("a chunk is stored", err)
		if bytes.Contains(chunk, data[n*blob.ChunkSize:][:9]) {
			p.Errorf("rule: chunk %d is encrypted\n got: the content", n)
		}
	}
	got, err := read(ctx, both, ref)
	p.Done("a content under an old key of the ring is read", err)
	p.Same("a content is decrypted", bytes.Equal(got, data), true)
	_, err = read(ctx, sealed("new"), ref)
	p.Fails("a key that is not in the ring is a typed error", err, checkpoint.ErrKey)
	_, err = read(ctx, p.blobs, ref)
	p.Fails("a store without keys reads no encrypted content", err, checkpoint.ErrKey)
	plain := p.put("a", text(5, 5))
	_, err = read(ctx, both, plain)
	p.Fails("a store with keys reads no plain content", err, checkpoint.ErrKey)
}
