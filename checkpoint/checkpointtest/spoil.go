package checkpointtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// Spoiler is a store under test of which the test can read and change each value that it
// has stored, in the form in which it has stored it. The rule about spoilt values needs it.
type Spoiler interface {
	// Values returns what is stored of a thread: headers, blobs, entries, and what the
	// store keeps beside them of its own, but for names and numbers.
	Values(thread string) ([]Value, error)
}

// Value is something that a store has stored.
type Value struct {
	Name string // for people
	Data []byte
	Set  func(data []byte) error // stores other bytes in its place
}

// spoiltValues flips bits of each stored value, and cuts it: a read then returns
// what was there, or an error that describes the damage. With Soak it tries each bit and length.
func spoiltValues(p *probe) {
	k := key("thread")
	s := p.scribe(k)
	s.next = []checkpoint.Task{{ID: "1", Node: "n"}}
	s.step(func(j *journal) { j.Title.Set("t"); j.Log.Append("1") })
	s.step(func(j *journal) { j.Log.Append("2"); j.Index.Put("k", 1) })
	s.step(func(j *journal) { j.Count.Add(1) })
	p.done("entries are stored", s.chain.Put(p.Context(), []checkpoint.Entry{entry("1", "result", `{"a":1}`)}))
	want, err := p.everything(k)
	p.done("a thread can be exported", err)
	list, err := p.store.(Spoiler).Values(k.Thread)
	p.done("a test can read what is stored", err)
	if len(list) < 8 {
		p.Fatalf("rule: a thread of three commits has three headers, four blobs and an entry\n got: %d values\nwant: 8 at least", len(list))
	}
	flips, noticed := 0, 0
	for _, v := range list {
		before := noticed
		for _, data := range spoilt(v.Data, soak(25, 1<<30)) {
			p.done("a test can spoil what is stored", v.Set(data))
			flips++
			got, err := p.everything(k)
			if err != nil {
				noticed++
			}
			if err == nil && got != want || err != nil && !isDamage(err) {
				p.Errorf("rule: what is spoilt is known as damage, or not missed\n got: %s is %.80q: %s, error %v\nwant: an error that is %q, or what was there", v.Name, data, got, err, checkpoint.ErrCorrupt)
			}
		}
		if noticed == before {
			p.Errorf("rule: what is stored is read, and damage to it is noticed\n got: %s can be anything", v.Name)
		}
		p.done("a test can repair what is stored", v.Set(v.Data))
	}
	got, err := p.everything(k)
	p.done("what was repaired can be read", err)
	p.same("what was repaired is whole", got, want)
	p.Logf("%d values, spoilt in %d ways, of which %d were noticed", len(list), flips, noticed)
}

func isDamage(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrUnsupported)
}

// everything reads all of a thread: every commit, every value, every entry.
func (p *probe) everything(k checkpoint.Key) (string, error) {
	var b strings.Builder
	if err := checkpoint.Export(p.Context(), p.store, k.Thread, &b); err != nil {
		return "", err
	}
	chain, err := checkpoint.Open(p.Context(), p.store, k, journals())
	if err != nil {
		return "", err
	}
	text, err := journals().Encode(chain.State)
	fmt.Fprintf(&b, "%s %s %s", text, asJSON(chain.Record), showAll(chain.Pending))
	return b.String(), err
}

// spoilt returns data with a flipped bit, and cut, in about so many ways each, or in all.
func spoilt(data []byte, ways int) (list [][]byte) {
	for i := 0; i < len(data)*8; i += 1 + len(data)*8/ways {
		flipped := bytes.Clone(data)
		flipped[i/8] ^= 1 << (i % 8)
		list = append(list, flipped)
	}
	for n := 0; n < len(data); n += 1 + len(data)*4/ways {
		list = append(list, data[:n:n])
	}
	return append(list, append(bytes.Clone(data), 0))
}
