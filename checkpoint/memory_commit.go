package checkpoint

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// memoryCommit is a commit in the form in which a Memory holds it.
type memoryCommit struct {
	seq    uint64
	id     string
	header []byte
	rest   []byte // the labels, and then the references, each after their number
}

// maxShared is the size of a commit, in bytes, up to which its values share one array. A value that
// stays keeps the others of its commit in memory, which is little up to this size.
const maxShared = 4 << 10

// memoryCopy is a commit and its blobs, in memory of their own.
type memoryCopy struct {
	commit memoryCommit
	shared []byte   // the data of the blobs, one after the other
	apart  [][]byte // instead, if the commit is large
}

// next returns the data of the blob with index i, which has size bytes. It must be called in order.
func (m *memoryCopy) next(i, size int) []byte {
	if m.apart != nil {
		return m.apart[i]
	}
	data := m.shared[:size:size]
	m.shared = m.shared[size:]
	return data
}

// copyOf copies a commit.
func copyOf(c *Commit) (m memoryCopy) {
	size := len(c.Header) + binary.MaxVarintLen16
	for key, value := range c.Labels {
		size += len(key) + len(value) + 2*binary.MaxVarintLen16
	}
	for i := range c.Refs {
		size += len(c.Refs[i].Field) + 2*binary.MaxVarintLen16 + binary.MaxVarintLen32
	}
	blobs := 0
	for i := range c.Blobs {
		blobs += len(c.Blobs[i].Data)
	}
	if size+blobs > maxShared {
		m.apart = make([][]byte, len(c.Blobs))
		for i := range m.apart {
			m.apart[i] = append(make([]byte, 0, len(c.Blobs[i].Data)), c.Blobs[i].Data...)
		}
		blobs = 0
	}
	room := append(make([]byte, 0, size+blobs), c.Header...)
	header := room[:len(room):len(room)]
	if m.apart == nil {
		for i := range c.Blobs {
			room = append(room, c.Blobs[i].Data...)
		}
		m.shared = room[len(header):]
	}
	from := len(room)
	room = binary.AppendUvarint(room, uint64(len(c.Labels)))
	for key, value := range c.Labels {
		room = appendText(appendText(room, key), value)
	}
	for i := range c.Refs {
		r := &c.Refs[i]
		room = binary.AppendUvarint(appendText(room, r.Field), r.Base)
		room = binary.AppendVarint(room, int64(r.Chunks))
	}
	m.commit = memoryCommit{seq: c.Seq(), id: c.ID, header: header, rest: room[from:]}
	return m
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText cuts a text that appendText has appended.
func cutText(b []byte) (text, rest []byte) {
	n, rest, _ := cutUvarint(b)
	return rest[:n], rest[n:]
}

// labels returns the labels of a commit.
func (c *memoryCommit) labels() map[string]string {
	n, b, _ := cutUvarint(c.rest)
	if n == 0 {
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		var key, value []byte
		key, b = cutText(b)
		value, b = cutText(b)
		m[string(key)] = string(value)
	}
	return m
}

// has reports whether a commit has all labels that a query asks for.
func (c *memoryCommit) has(where map[string]string) bool {
	if len(where) == 0 {
		return true
	}
	found := 0
	n, b, _ := cutUvarint(c.rest)
	for range n {
		var key, value []byte
		key, b = cutText(b)
		value, b = cutText(b)
		if want, ok := where[string(key)]; ok && want == string(value) {
			found++
		}
	}
	return found == len(where)
}

// refs returns the references of a commit.
func (c *memoryCommit) refs() (refs []Ref) {
	n, b, _ := cutUvarint(c.rest)
	for range 2 * n {
		_, b = cutText(b)
	}
	for len(b) > 0 {
		var field []byte
		var r Ref
		field, b = cutText(b)
		r.Field = string(field)
		r.Base, b, _ = cutUvarint(b)
		chunks, used := binary.Varint(b)
		r.Chunks, b = int(chunks), b[used:]
		refs = append(refs, r)
	}
	return refs
}

func (c *memoryCommit) snapshot(k Key, head uint64) Snapshot {
	return Snapshot{Key: k, Seq: c.seq, Head: head, ID: c.id, Labels: c.labels(), Header: c.header, Refs: c.refs()}
}

// memoryField has the blobs of a field.
type memoryField struct {
	name  string
	bases []memoryBase // in ascending order
}

// memoryBase is a base with its chunks. What is nil is not stored.
type memoryBase struct {
	base   uint64
	whole  []byte         // chunk 0
	chunks [][]byte       // chunk n has the index n-1
	others map[int][]byte // chunks that came out of order
	stored int            // how many there are
}

// get returns a blob, or nil if it or the base is not stored.
func (b *memoryBase) get(chunk int) []byte {
	switch {
	case b == nil:
		return nil
	case chunk == 0:
		return b.whole
	case chunk > 0 && chunk <= len(b.chunks):
		return b.chunks[chunk-1]
	}
	return b.others[chunk]
}

// set stores a blob, or removes it if data is nil.
func (b *memoryBase) set(chunk int, data []byte) {
	if had := b.get(chunk) != nil; had && data == nil {
		b.stored--
	} else if !had && data != nil {
		b.stored++
	}
	switch {
	case chunk == 0:
		b.whole = data
	case chunk > 0 && chunk <= len(b.chunks):
		b.chunks[chunk-1] = data
	case data == nil:
		delete(b.others, chunk)
	case chunk == len(b.chunks)+1 && b.others[chunk] == nil:
		b.chunks = append(b.chunks, data)
	default:
		if b.others == nil {
			b.others = map[int][]byte{}
		}
		b.others[chunk] = data
	}
}

// find returns the index of a base, or where it belongs.
func (f *memoryField) find(base uint64) (i int, found bool) {
	if f == nil {
		return 0, false
	}
	if n := len(f.bases); n > 0 && f.bases[n-1].base <= base { // as a rule
		if f.bases[n-1].base == base {
			return n - 1, true
		}
		return n, false
	}
	return slices.BinarySearchFunc(f.bases, base, func(b memoryBase, base uint64) int { return cmp.Compare(b.base, base) })
}

// fewFields is how many fields are found without a map.
const fewFields = 8

// field returns a field, or nil.
func (ch *memoryChain) field(name string) *memoryField {
	if ch.byName != nil {
		if i, ok := ch.byName[name]; ok {
			return &ch.fields[i]
		}
		return nil
	}
	for i := range ch.fields {
		if ch.fields[i].name == name {
			return &ch.fields[i]
		}
	}
	return nil
}

// addField adds a field.
func (ch *memoryChain) addField(name string) *memoryField {
	ch.fields = append(ch.fields, memoryField{name: name})
	switch n := len(ch.fields); {
	case ch.byName != nil:
		ch.byName[name] = n - 1
	case n > fewFields:
		ch.byName = make(map[string]int, 2*n)
		for i := range ch.fields {
			ch.byName[ch.fields[i].name] = i
		}
	}
	return &ch.fields[len(ch.fields)-1]
}

// base returns a base of a field, or nil.
func (ch *memoryChain) base(field string, base uint64) *memoryBase {
	f := ch.field(field)
	if i, found := f.find(base); found {
		return &f.bases[i]
	}
	return nil
}

// add stores data as the data of a blob, and owns it from then on.
func (ch *memoryChain) add(b *Blob, data []byte) {
	f := ch.field(b.Field)
	if f == nil {
		f = ch.addField(b.Field)
	}
	i, found := f.find(b.Base)
	if !found {
		f.bases = slices.Insert(f.bases, i, memoryBase{base: b.Base})
	}
	f.bases[i].set(b.Chunk, data)
}

// remove removes a blob if it is there.
func (ch *memoryChain) remove(b Blob) {
	f := ch.field(b.Field)
	i, found := f.find(b.Base)
	if !found {
		return
	}
	f.bases[i].set(b.Chunk, nil)
	if f.bases[i].stored == 0 {
		f.bases = slices.Delete(f.bases, i, i+1)
	}
}

// checkNew returns an error if a blob of c would change a stored one.
func (ch *memoryChain) checkNew(c *Commit) error {
	var seen map[Ref]bool
	if len(c.Blobs) > 1 {
		seen = make(map[Ref]bool, len(c.Blobs))
	}
	for i := range c.Blobs {
		b := &c.Blobs[i]
		old := false
		if ch != nil {
			old = ch.base(b.Field, b.Base).get(b.Chunk) != nil
		}
		if seen != nil {
			at := Ref{b.Field, b.Base, b.Chunk}
			old = old || seen[at]
			seen[at] = true
		}
		if old {
			return fmt.Errorf("checkpoint: thread %q, namespace %q, commit %d: chunk %d of field %q, base %d, is stored already; a blob is written once",
				c.Thread, c.Namespace, c.Seq(), b.Chunk, b.Field, b.Base)
		}
	}
	return nil
}
