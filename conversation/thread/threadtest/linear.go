package threadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/internal/racing"
)

// did is one call on a thread as its caller saw it, and saw how it ended.
type (
	did struct {
		What    string // "load", "save", "enable" or "clear"
		Version uint64 // that is saved
		Coins   int
		Tool    string
	}
	saw struct {
		Conflict bool
		Version  uint64 // stored, in a load or a conflict
		Coins    int
		Tools    string
	}
)

// register is the specification of a thread: the version of its state, what it says, and its
// tools.
type register struct {
	version uint64
	coins   int
	tools   string
}

// next returns the register after a call, and whether the call could end like that.
func (r register) next(d did, s saw) (bool, register) {
	switch d.What {
	case "load":
		return s == saw{Version: r.version, Coins: r.coins, Tools: r.tools}, r
	case "enable":
		list := strings.Fields(r.tools)
		if !slices.Contains(list, d.Tool) {
			list = append(list, d.Tool)
		}
		return true, register{r.version, r.coins, strings.Join(list, " ")}
	case "clear":
		return true, register{tools: r.tools}
	}
	if d.Version != r.version+1 {
		return s == saw{Conflict: true, Version: r.version}, r
	}
	return s == saw{}, register{d.Version, d.Coins, r.tools}
}

// race is of writers on thread t1.
var race = racing.Race[document.Store, did, saw]{
	Env: "WEFT_THREAD_CHILD", Calls: 60, Client: newWriter,
	Rule: "what racing writers see of a thread can be told as one story",
	Spec: porcupine.Model{
		Init: func() any { return register{} },
		Step: func(state, input, output any) (bool, any) { return state.(register).next(input.(did), output.(saw)) },
	},
}

type purse struct{ Coins int }

// writer does by chance what many do to one thread.
type writer struct {
	client  int
	rnd     *rand.Rand
	session *thread.Session[purse]
	version uint64 // of the last load
	coins   int
}

func newWriter(docs document.Store, client int, seed uint64) racing.Client[did, saw] {
	m, err := thread.NewManager(thread.NewRepository[purse](docs), thread.Options{})
	if err != nil {
		panic(err) // these options are good
	}
	return &writer{client: client, rnd: rand.New(rand.NewPCG(seed, uint64(client))), session: m.Begin()}
}

// Choose implements racing.Client.
func (w *writer) Choose() did {
	switch n := w.rnd.IntN(20); {
	case n < 8:
		return did{What: "load"}
	case n < 16:
		return did{What: "save", Version: w.version + 1, Coins: w.coins*10 + w.client}
	case n < 19:
		return did{What: "enable", Tool: fmt.Sprint(w.client, "-", w.rnd.IntN(3))}
	}
	return did{What: "clear"}
}

// Do implements racing.Client.
func (w *writer) Do(ctx context.Context, d did) (s saw, err error) {
	switch d.What {
	case "load":
		return w.load(ctx)
	case "enable":
		return s, w.session.EnableTools(ctx, "t1", d.Tool)
	case "clear":
		return s, w.session.ClearState(ctx, "t1")
	}
	err = w.session.SetState(ctx, "t1", &thread.State[purse]{Data: &purse{d.Coins}, Version: d.Version})
	var c *thread.ConflictError
	if errors.As(err, &c) {
		return saw{Conflict: true, Version: c.Version}, nil
	}
	if err == nil {
		w.version, w.coins = d.Version, d.Coins%1000
	}
	return s, err
}

func (w *writer) load(ctx context.Context) (s saw, err error) {
	t, err := w.session.Load(ctx, "t1")
	if err != nil {
		return s, err
	}
	if t.State != nil {
		s.Version, s.Coins = t.State.Version, t.State.Data.Coins
	}
	tools, err := t.Config.Tools()
	s.Tools = strings.Join(tools, " ")
	w.version, w.coins = s.Version, s.Coins%1000
	return s, err
}

func begin(t testing.TB, docs document.Store) {
	t.Helper()
	if err := thread.NewRepository[purse](docs).SetConfig(t.Context(), "t1", thread.Config{}); err != nil {
		t.Fatal(err)
	}
}
