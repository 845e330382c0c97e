package checkpointtest

import (
	"bytes"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// library makes a thread with a root, two other namespaces and entries.
func (p *probe) library(thread string) string {
	p.Helper()
	for i, ns := range []string{"", "child:1", "child:1|inner:2"} {
		s := p.scribe(key(thread, ns))
		s.steps(12 + i)
		p.done("entries are stored", s.chain.Put(p.Context(), []checkpoint.Entry{entry("t", "result", `{"a":1}`), entry("u", "answer", `"yes"`)}))
	}
	return p.contents(p.store, thread)
}

func copyThread(p *probe) {
	want := p.library("from")
	p.library("stays")
	p.done("a thread can be copied", checkpoint.Copy(p.Context(), p.store, "from", p.store, "to"))
	p.same("a copy has all namespaces, commits, records, values and entries, in their order", p.contents(p.store, "to"), want)
	p.same("the source stays as it is", p.contents(p.store, "from"), want)
	p.same("all threads are listed", names(p.threads(checkpoint.ThreadQuery{})), `["from" "stays" "to"]`)
	s := p.scribe(key("to"))
	s.steps(1)
	p.same("the source does not see what becomes of the copy", p.contents(p.store, "from"), want)
	p.done("the source can be deleted", p.store.Delete(p.Context(), "from"))
	p.same("the copy does not need the source", strings.HasPrefix(p.state(p.store, key("to"), 0), `{"title":"title 12","count":91`), true)

	p.done("an unknown thread can be copied", checkpoint.Copy(p.Context(), p.store, "unknown", p.store, "nothing"))
	p.same("the copy of an unknown thread is no thread", len(p.namespaces("nothing")), 0)
}

func copyBetweenStores(p *probe) {
	want := p.library("thread")
	if s, ok := p.store.(checkpoint.Dropper); ok {
		p.done("a thread can be pruned", checkpoint.Prune(p.Context(), s.(checkpoint.Store), "thread", checkpoint.Keep{Marked: func(s checkpoint.Snapshot) bool { return s.Seq%3 == 0 }}))
		want = p.contents(p.store, "thread")
	}
	other := new(checkpoint.Memory)
	p.done("a thread can be copied to another store", checkpoint.Copy(p.Context(), p.store, "thread", other, "there"))
	p.same("a copy in another store has all of it, gaps too", p.contents(other, "there"), want)
	p.done("and back", checkpoint.Copy(p.Context(), other, "there", p.store, "back"))
	p.same("a copy of a copy has all of it", p.contents(p.store, "back"), want)
	s := p.scribe(key("back"))
	s.steps(3)
	p.same("a copy goes on as the thread would", s.chain.Head(), 15)
}

func copyRefuses(p *probe) {
	p.library("from")
	p.commit(step(key("there", "sub"), 1))
	before := p.dump(key("there", "sub"))
	p.fails("a thread that is there is not copied over", checkpoint.Copy(p.Context(), p.store, "from", p.store, "there"), checkpoint.ErrThreadExists)
	p.fails("a thread is not copied over itself", checkpoint.Copy(p.Context(), p.store, "from", p.store, "from"), checkpoint.ErrThreadExists)
	p.fails("a bad id is refused", checkpoint.Copy(p.Context(), p.store, "from", p.store, ""), checkpoint.ErrThreadID)
	p.same("a refused copy changes nothing", p.dump(key("there", "sub")), before)
	p.commit(step(key("foreign"), 1))
	p.fails("what has no seal is not copied", checkpoint.Copy(p.Context(), p.store, "foreign", p.store, "new"), checkpoint.ErrCorrupt)
	p.same("a copy that fails leaves nothing behind", len(p.namespaces("new")), 0)
}

func exportThread(p *probe) {
	want := p.library("thread")
	var file, again bytes.Buffer
	p.done("a thread can be exported", checkpoint.Export(p.Context(), p.store, "thread", &file))
	text := file.String()
	p.done("a thread can be imported", checkpoint.Import(p.Context(), p.store, "new", &file))
	p.same("an imported thread has all of it", p.contents(p.store, "new"), want)
	p.done("it can be exported again", checkpoint.Export(p.Context(), p.store, "thread", &again))
	p.same("the same thread is the same file", again.String() == text, true)
	p.fails("a thread that is there is not imported over", checkpoint.Import(p.Context(), p.store, "new", strings.NewReader(text)), checkpoint.ErrThreadExists)
	p.fails("an unknown thread is not exported", checkpoint.Export(p.Context(), p.store, "unknown", &again), checkpoint.ErrNotFound)
	p.fails("half a file is refused", checkpoint.Import(p.Context(), p.store, "half", strings.NewReader(text[:len(text)/2])), checkpoint.ErrCorrupt)
	p.same("half a file leaves nothing behind", len(p.namespaces("half")), 0)
}
