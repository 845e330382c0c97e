package documenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/testreport"
)

// probe calls a store, and reports failures in one form: the rule, got, want.
type probe struct {
	testreport.Probe
	store document.Store
}

var home = document.At("conversations", "thread-1")

// set stores JSON.
func (p *probe) set(at document.Place, id, value string, order ...string) document.Doc {
	p.Helper()
	d, err := p.store.Set(p.Context(), at, document.Change{ID: id, Value: json.RawMessage(value), Order: strings.Join(order, "")})
	p.Done(fmt.Sprintf("%.80q can be set at %.80q in %.200v", value, id, at), err)
	return d
}

func (p *probe) get(at document.Place, id string) document.Doc {
	p.Helper()
	d, err := p.store.Get(p.Context(), at, id)
	p.Done(fmt.Sprintf("Get returns the document that was set at %.80q in %.200v", id, at), err)
	return d
}

// gone checks that Get returns ErrNotFound for an id.
func (p *probe) gone(rule string, at document.Place, id string) {
	p.Helper()
	_, err := p.store.Get(p.Context(), at, id)
	p.Fails(rule, err, document.ErrNotFound)
}

func (p *probe) delete(at document.Place, id string) {
	p.Helper()
	p.Done(fmt.Sprintf("%.80q in %.200v can be deleted", id, at), p.store.Delete(p.Context(), at, id))
}

func (p *probe) batch(at document.Place, changes ...document.Change) []document.Doc {
	p.Helper()
	docs, err := p.store.Batch(p.Context(), at, changes)
	p.Done("a batch can be written", err)
	if len(docs) != len(changes) {
		p.Fatalf("rule: Batch returns a document for each change\n got: %d documents for %d changes", len(docs), len(changes))
	}
	return docs
}

func (p *probe) query(q document.Query) []document.Doc {
	p.Helper()
	docs, err := p.store.Query(p.Context(), q)
	p.Done(fmt.Sprintf("Query accepts %.300v", q), err)
	return docs
}

// ids returns the ids that q selects, in the order of q, with spaces between them.
func (p *probe) ids(q document.Query) string {
	p.Helper()
	return idsOf(p.query(q))
}

func idsOf(docs []document.Doc) string {
	ids := []string{}
	for _, d := range docs {
		ids = append(ids, d.ID)
	}
	return strings.Join(ids, " ")
}

// show formats a document. Equal documents have equal texts.
func show(d document.Doc) string {
	return fmt.Sprintf("%v %q %s order %q seq %d v%d", d.Place, d.ID, d.Value, d.Order, d.Seq, d.Version)
}

// conflict checks that err is a ConflictError with this document and these versions.
func (p *probe) conflict(err error, at document.Place, id string, want, version uint64) {
	p.Helper()
	p.Fails("a version that is no longer current is a conflict", err, document.ErrConflict)
	var c *document.ConflictError
	if !errors.As(err, &c) {
		p.Errorf("rule: a conflict is a *ConflictError\n got: %T", err)
		return
	}
	p.Same("a conflict names the document, the version that was wanted and the real one",
		fmt.Sprintf("%v %q want %d is %d", c.Place, c.ID, c.Want, c.Version), fmt.Sprintf("%v %q want %d is %d", at, id, want, version))
}

// hostile are texts with a special meaning in some backend.
var hostile = []string{
	"*", "?", "[a-z]*", "%", "_", ".", "..", "/", `\`, ":", "{x}", "}{", "'", `"`, "`", "''; DROP TABLE documents; --", "$1", "?1", "@", "-", "+", "(", "[",
	" ", " a", "a ", "\t", "\n", "\r\n", "\x01", "\x7f", "é", "e\u0301", "日本語", "😀", "\ufeff", "null", "0", "A", "a", "aa", "a.b", "a:b", "a\x01b",
	strings.Repeat("x", document.MaxName), strings.Repeat("é", document.MaxName/2),
}

// noise returns n random characters, which hardly compress.
func noise(seed uint64, n int) string {
	rnd, b := rand.New(rand.NewPCG(seed, seed)), make([]byte, n)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[rnd.IntN(64)]
	}
	return string(b)
}
