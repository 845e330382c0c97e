package checkpointtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// sharedReferences lets many commits share blobs, and chains in other namespaces have
// blobs with the same addresses.
func sharedReferences(p *probe) {
	const n = 30
	k, other := key("thread"), key("thread", "sub")
	first := p.grown(k, 3)
	p.commit(step(other, 1))
	for seq := uint64(4); seq <= n; seq++ {
		c := checkpoint.Commit{Key: k, ID: fmt.Sprint(seq), Head: seq - 1, Refs: first[seq%3].Refs}
		p.commit(c)
	}
	for seq := uint64(4); seq <= n; seq++ {
		want := stored(checkpoint.Commit{Key: k, ID: fmt.Sprint(seq), Head: seq - 1, Refs: first[seq%3].Refs}, n)
		want.Blobs = whole(first, int(seq%3), n).Blobs
		p.same("many commits may refer to one blob", p.load(k, seq), want)
	}
	p.same("blobs of another namespace are others", p.load(other, 0), stored(step(other, 1), 1))
}

// blobsAreWrittenOnce tries to change a blob, in ways that leave something half done if
// a commit is not one write.
func blobsAreWrittenOnce(p *probe) {
	k := key("thread")
	p.grown(k, 3)
	p.put(k, 3, entry("t", "s", "work"))
	before := p.dump(k)
	for what, blobs := range map[string][]checkpoint.Blob{
		"a blob that is stored":     {{Field: "new", Base: 4, Data: []byte("x")}, {Field: "log", Base: 1, Chunk: 1, Data: []byte("changed")}},
		"a blob twice":              {{Field: "new", Base: 4, Data: []byte("x")}, {Field: "new", Base: 4, Data: []byte("y")}},
		"a blob that is the same":   {{Field: "log", Base: 1, Chunk: 1, Data: []byte("line 1")}},
		"a blob of the first value": {{Field: "value", Base: 1, Data: nil}},
	} {
		c := checkpoint.Commit{Key: k, ID: "4", Head: 3, Blobs: blobs, Pending: []checkpoint.Entry{entry("t", "s", "new")}}
		if err := p.store.Commit(p.Context(), c); err == nil {
			p.Errorf("rule: a blob is written once: %s is refused\n got: no error\nwant: an error", what)
		}
	}
	p.same("a refused commit leaves nothing behind", p.dump(k), before)
	p.commit(step(k, 4))
}

func emptyValues(p *probe) {
	k := key("thread")
	c := checkpoint.Commit{
		Key: k, ID: "", Header: []byte{}, Refs: []checkpoint.Ref{{Field: "", Base: 1, Chunks: 1}},
		Blobs:   []checkpoint.Blob{{Field: "", Base: 1, Data: nil}, {Field: "", Base: 1, Chunk: 1, Data: []byte{}}},
		Pending: []checkpoint.Entry{entry("", "", "")},
	}
	p.commit(c)
	p.same("a value of no bytes is a value", p.load(k, 0), stored(c, 1, entry("", "", "")))
	p.commit(step(k, 2))
	p.same("a value of no bytes stays", p.load(k, 1), stored(c, 2))
	empty := checkpoint.Commit{Key: k, ID: "empty", Head: 2}
	p.commit(empty)
	p.same("nothing is nothing", p.load(k, 0), stored(empty, 3))
	p.put(k, 3, checkpoint.Entry{Task: "t", Slot: "s"})
	p.same("an entry without data is an entry", p.load(k, 0), stored(empty, 3, entry("t", "s", "")))
}

func everyByteEverywhere(p *probe) {
	k := key("thread")
	c := checkpoint.Commit{Key: k, ID: "1", Header: everyByte()}
	for i, b := range everyByte() {
		field := fmt.Sprintf("%02x", b)
		c.Refs = append(c.Refs, checkpoint.Ref{Field: field, Base: 1})
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: field, Base: 1, Data: append(everyByte()[i:], b, b)})
	}
	c.Pending = []checkpoint.Entry{{Task: "t", Slot: "a", Data: everyByte()}, {Task: "t", Slot: "b", Data: bytes.Repeat(everyByte(), 3)}}
	p.commit(c)
	p.same("every byte comes back, in every place", p.load(k, 0), stored(c, 1, c.Pending...))
}

func bigValues(p *probe) {
	const mib = 1 << 20
	k := key("thread")
	c := checkpoint.Commit{
		Key: k, ID: strings.Repeat("i", checkpoint.MaxID), Header: bytes.Repeat([]byte("h"), 64<<10),
		Refs:    []checkpoint.Ref{{Field: "big", Base: 1}, {Field: strings.Repeat("f", 200), Base: 1}},
		Blobs:   []checkpoint.Blob{{Field: "big", Base: 1, Data: bytes.Repeat(everyByte(), 16*mib/256)}, {Field: strings.Repeat("f", 200), Base: 1, Data: []byte("small")}},
		Pending: []checkpoint.Entry{{Task: "t", Slot: "s", Data: bytes.Repeat([]byte("e"), mib)}},
	}
	p.commit(c)
	p.same("a value of 16 MiB, a header of 64 KiB and an entry of 1 MiB come back", p.load(k, 0), stored(c, 1, c.Pending...))
	got, err := p.store.Load(p.Context(), k, 1)
	p.done("a value of 16 MiB can be loaded by number", err)
	p.same("all of a value of 16 MiB comes back", bytes.Equal(got.Blobs[0].Data, c.Blobs[0].Data), true)
}

// manyFields has more references than a store may want to ask for at once.
func manyFields(p *probe) {
	const n = 1024
	k := key("thread")
	c := checkpoint.Commit{Key: k, ID: "1"}
	for i := range n {
		field := fmt.Sprintf("field %d", (i*389)%n)
		c.Refs = append(c.Refs, checkpoint.Ref{Field: field, Base: 1, Chunks: i % 3})
		for chunk := range i%3 + 1 {
			c.Blobs = append(c.Blobs, checkpoint.Blob{Field: field, Base: 1, Chunk: chunk, Data: fmt.Appendf(nil, "%s, %d", field, chunk)})
		}
	}
	p.commit(c)
	p.same("a state may have many fields, each with its chunks, in the order of Refs", p.load(k, 0), stored(c, 1))
}

func numbers(p *probe) {
	k := key("thread")
	numbered := func(number, head uint64) checkpoint.Commit {
		c := step(k, number)
		c.Head, c.Number = head, number
		return c
	}
	var list []checkpoint.Commit
	for i, n := range []uint64{5, 6, 40, 1 << 40} {
		head := uint64(0)
		if i > 0 {
			head = list[i-1].Seq()
		}
		c := numbered(n, head)
		p.commit(c)
		list = append(list, c)
		p.same("a commit gets the number that it asks for", p.load(k, 0), stored(c, n))
	}
	for _, n := range []uint64{1, 4, 7, 39, 41, 1<<40 - 1, 1<<40 + 1} {
		_, err := p.store.Load(p.Context(), k, n)
		p.fails("a number in a gap is not found", err, checkpoint.ErrNotFound)
	}
	p.same("an older commit keeps its number", p.load(k, 40), stored(list[2], 1<<40))
	p.conflicts("a commit for a number in a gap is refused", p.store.Commit(p.Context(), numbered(41, 40)), k, 40, 1<<40)
	next := step(k, 1<<40+1)
	p.commit(next)
	p.same("without a number the chain goes on by one", p.load(k, 0), stored(next, 1<<40+1))
}

func numbersAgain(p *probe) {
	k := key("thread")
	c := step(k, 7)
	c.Head, c.Number = 0, 7
	p.commit(c)
	p.put(k, 7, entry("t", "s", "work"))
	p.commit(c)
	p.same("a numbered commit twice is one commit", p.load(k, 0), stored(c, 7, entry("t", "s", "work")))
	p.same("a numbered commit twice is listed once", fmt.Sprint(seqs(p.history(k, checkpoint.Query{}))), "[7]")
	other := c
	other.ID = "another"
	p.conflicts("another commit with this number is refused", p.store.Commit(p.Context(), other), k, 0, 7)
	other.Number, other.ID = 8, c.ID
	p.conflicts("the same ID with another number is another commit", p.store.Commit(p.Context(), other), k, 0, 7)
}

func badCommits(p *probe) {
	k := key("thread")
	p.commitSteps(k, 3)
	before := p.dump(k)
	for what, change := range map[string]func(*checkpoint.Commit){
		"a number that is the head":        func(c *checkpoint.Commit) { c.Number = 3 },
		"a number before the head":         func(c *checkpoint.Commit) { c.Number = 1 },
		"a number beyond the greatest":     func(c *checkpoint.Commit) { c.Number = 1 << 63 },
		"an ID that is too long":           func(c *checkpoint.Commit) { c.ID = strings.Repeat("i", checkpoint.MaxID+1) },
		"a time to live before the commit": func(c *checkpoint.Commit) { c.TTL = -1 },
		"a label without a key":            func(c *checkpoint.Commit) { c.Labels = map[string]string{"": "x"} },
	} {
		c := step(k, 4)
		change(&c)
		p.fails(what+" is refused", p.store.Commit(p.Context(), c), checkpoint.ErrRequest)
	}
	p.same("a refused commit changes nothing", p.dump(k), before)
	p.commit(step(k, 4))
}

// similarIDs are ids of which one is the beginning of another, at lengths where a store
// may change how it writes them.
func similarIDs(p *probe) {
	var keys []checkpoint.Key
	for _, n := range []int{1, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 1023, 1024} {
		id := strings.Repeat("x", n)
		keys = append(keys, key(id), key(id[:n-1]+"y"), key(id[:n-1]+"X"), key("namespaces", id), key("namespaces", id[:n-1]+"y"))
	}
	for i, k := range keys {
		c := step(k, 1)
		c.Header = fmt.Append(nil, i)
		p.commit(c)
		p.put(k, 1, entry(k.Thread, k.Namespace, fmt.Sprint(i)))
	}
	for i, k := range keys {
		want := step(k, 1)
		want.Header = fmt.Append(nil, i)
		p.same("ids that begin alike are different", p.load(k, 0), stored(want, 1, entry(k.Thread, k.Namespace, fmt.Sprint(i))))
	}
	p.same("threads are listed by their exact ids, in byte order", names(p.threads(checkpoint.ThreadQuery{})), names(rootsOf(keys)))
}
