package checkpointtest

import (
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// hostile are names that break escaping, patterns, paths and comparison.
var hostile = []string{
	":", "a:b", "{x}", "}{", "*", "[a-z]", "a\nb", "a\x00b", "a\x00", "%", "_", "a?b",
	`'"` + "`", `\`, "'; DROP TABLE head; --", "🧵🙂", strings.Repeat("é", checkpoint.MaxThread/2),
	"case", "CASE", "space", "space ", "../../etc/passwd", "caf\u00e9", "cafe\u0301",
}

// hostileIDs uses every name as a thread, a namespace, a field, a task and a slot.
func hostileIDs(p *probe) {
	var keys []checkpoint.Key
	for _, id := range hostile {
		keys = append(keys, key(id), key(id, "sub"), key("thread", id))
	}
	keys = append(keys, key("a:b", "c"), key("a", "b:c"), key("a/b", "c"), key("a", "b/c"), key("thread"), key("a"))
	for _, k := range keys {
		p.commitSteps(k, 2)
		p.put(k, 2, entriesOf(k)...)
	}
	for _, k := range keys {
		p.same("every valid id is a chain of its own", p.load(k, 0), stored(step(k, 2), 2, entriesOf(k)...))
		p.same("every valid id has its own history", seqs(p.history(k, checkpoint.Query{})), down(2, 1))
	}
	p.same("threads are listed by their exact ids, in byte order", names(p.threads(checkpoint.ThreadQuery{})), names(rootsOf(keys)))
	p.hostileFields()
	for _, id := range hostile {
		p.done("a thread with any id can be deleted", p.store.Delete(p.Context(), id))
		keys = slices.DeleteFunc(keys, func(k checkpoint.Key) bool { return k.Thread == id })
		p.same("Delete removes the thread with exactly this id", names(p.threads(checkpoint.ThreadQuery{})), names(rootsOf(append(keys, key("fields")))))
	}
}

// entriesOf has each hostile name once as a task and once as a slot.
func entriesOf(k checkpoint.Key) (entries []checkpoint.Entry) {
	for _, name := range hostile[:8] {
		entries = append(entries, checkpoint.Entry{Task: name, Slot: "s", Data: []byte(k.Thread)}, checkpoint.Entry{Task: "t", Slot: name, Data: []byte(k.Namespace)})
	}
	slices.SortFunc(entries, func(a, b checkpoint.Entry) int {
		return slices.Compare([]string{a.Task, a.Slot}, []string{b.Task, b.Slot})
	})
	return entries
}

// rootsOf returns the threads that have a root chain, in the order of listings.
func rootsOf(keys []checkpoint.Key) (list []checkpoint.Snapshot) {
	for _, k := range keys {
		if k.Namespace == "" {
			list = append(list, checkpoint.Snapshot{Key: k})
		}
	}
	slices.SortFunc(list, func(a, b checkpoint.Snapshot) int { return strings.Compare(a.Thread, b.Thread) })
	return list
}

func (p *probe) hostileFields() {
	c := checkpoint.Commit{Key: key("fields"), ID: "1"}
	for _, field := range hostile {
		c.Refs = append(c.Refs, checkpoint.Ref{Field: field, Base: 1})
		c.Blobs = append(c.Blobs, checkpoint.Blob{Field: field, Base: 1, Data: []byte(field)})
	}
	p.commit(c)
	p.same("every name is a field of its own", p.load(c.Key, 0), stored(c, 1))
}

func badThreadIDs(p *probe) {
	for _, id := range []string{"", strings.Repeat("x", checkpoint.MaxThread+1), "\xff\xfe", "a\xc3"} {
		p.fails("a commit to a thread without a valid id is refused", p.store.Commit(p.Context(), step(key(id), 1)), checkpoint.ErrThreadID)
	}
	p.same("a refused commit starts no thread", names(p.threads(checkpoint.ThreadQuery{})), names(nil))
}

func isolation(p *probe) {
	keys := []checkpoint.Key{key("a"), key("b"), key("a", "sub"), key("a", "sub2"), key("b", "sub"), key("only", "sub")}
	for i, k := range keys {
		p.commitSteps(k, uint64(i)+1)
		p.put(k, uint64(i)+1, checkpoint.Entry{Task: "t", Slot: "s", Data: []byte(k.Thread + k.Namespace)})
	}
	for i, k := range keys {
		n := uint64(i) + 1
		p.same("threads and namespaces do not see each other", p.load(k, 0),
			stored(step(k, n), n, checkpoint.Entry{Task: "t", Slot: "s", Data: []byte(k.Thread + k.Namespace)}))
		p.same("threads and namespaces have their own history", seqs(p.history(k, checkpoint.Query{})), down(n, 1))
	}
	_, err := p.store.Load(p.Context(), key("only"), 0)
	p.fails("a namespace does not make a root", err, checkpoint.ErrNotFound)
}
