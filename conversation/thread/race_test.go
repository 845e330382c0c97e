package thread_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/internal/servicetest"
	"github.com/weftrun/weft/internal/testreport"
)

type (
	// input is a call on thread t1.
	input struct {
		Call    string // "load", "save", "enable" or "clear"
		Version uint64 // the version to save
		Coins   int
		Tool    string
	}
	// output is the result of a call.
	output struct {
		Conflict bool
		Version  uint64 // the stored version, after a load or a conflict
		Coins    int
		Tools    string
	}
)

// register is the specification of a thread: the version of its state, the coins in it, and the
// enabled tools.
type register struct {
	version uint64
	coins   int
	tools   string
}

// next returns the register after a call, and whether the result is possible.
func (r register) next(in input, out output) (bool, register) {
	switch in.Call {
	case "load":
		return out == output{Version: r.version, Coins: r.coins, Tools: r.tools}, r
	case "enable":
		list := strings.Fields(r.tools)
		if !slices.Contains(list, in.Tool) {
			list = append(list, in.Tool)
		}
		return true, register{r.version, r.coins, strings.Join(list, " ")}
	case "clear":
		return true, register{tools: r.tools}
	}
	if in.Version != r.version+1 {
		return out == output{Conflict: true, Version: r.version}, r
	}
	return out == output{}, register{in.Version, in.Coins, r.tools}
}

// race is a race of writers on thread t1.
var race = servicetest.Race[input, output]{
	Env: "WEFT_THREAD_CHILD", Calls: 60, Client: newWriter,
	Rule: "concurrent loads and saves of a thread are linearizable",
	Spec: servicetest.Spec{
		Init: func() any { return register{} },
		Step: func(state, in, out any) (bool, any) { return state.(register).next(in.(input), out.(output)) },
	},
}

type purse struct{ Coins int }

// writer makes random calls on thread t1.
type writer struct {
	client  int
	rnd     *rand.Rand
	session *thread.Session[purse]
	version uint64 // as of the last load
	coins   int
}

func newWriter(docs document.Store, client int, seed uint64) servicetest.Client[input, output] {
	m, err := thread.NewManager(thread.NewRepository[purse](docs), thread.Options{})
	if err != nil {
		panic(err) // the options are valid
	}
	return &writer{client: client, rnd: rand.New(rand.NewPCG(seed, uint64(client))), session: m.Begin()}
}

// Choose implements servicetest.Client.
func (w *writer) Choose() input {
	switch n := w.rnd.IntN(20); {
	case n < 8:
		return input{Call: "load"}
	case n < 16:
		return input{Call: "save", Version: w.version + 1, Coins: w.coins*10 + w.client}
	case n < 19:
		return input{Call: "enable", Tool: fmt.Sprint(w.client, "-", w.rnd.IntN(3))}
	}
	return input{Call: "clear"}
}

// Do implements servicetest.Client.
func (w *writer) Do(ctx context.Context, in input) (out output, err error) {
	switch in.Call {
	case "load":
		return w.load(ctx)
	case "enable":
		return out, w.session.EnableTools(ctx, "t1", in.Tool)
	case "clear":
		return out, w.session.ClearState(ctx, "t1")
	}
	err = w.session.SetState(ctx, "t1", &thread.State[purse]{Data: &purse{in.Coins}, Version: in.Version})
	var c *thread.ConflictError
	if errors.As(err, &c) {
		return output{Conflict: true, Version: c.Version}, nil
	}
	if err == nil {
		w.version, w.coins = in.Version, in.Coins%1000
	}
	return out, err
}

func (w *writer) load(ctx context.Context) (out output, err error) {
	t, err := w.session.Load(ctx, "t1")
	if err != nil {
		return out, err
	}
	if t.State != nil {
		out.Version, out.Coins = t.State.Version, t.State.Data.Coins
	}
	tools, err := t.Config.Tools()
	out.Tools = strings.Join(tools, " ")
	w.version, w.coins = out.Version, out.Coins%1000
	return out, err
}

// createThread creates thread t1.
func createThread(t testing.TB, docs document.Store) {
	t.Helper()
	if err := thread.NewRepository[purse](docs).SetConfig(t.Context(), "t1", thread.Config{}); err != nil {
		t.Fatal(err)
	}
}

func TestRace_Goroutines(t *testing.T) {
	r := race
	r.Calls = 25
	for seed := range uint64(20) {
		docs := new(document.Map)
		createThread(t, docs)
		r.Goroutines(t, docs, seed)
	}
}

func TestRace_TwoProcesses(t *testing.T) {
	race.Processes(t, filepath.Join(t.TempDir(), "threads.db"), openPath, func(docs document.Store) { createThread(t, docs) })
}

func TestRace_JudgesALostUpdate(t *testing.T) {
	lost := []servicetest.Operation[input, output]{
		{Client: 0, In: input{Call: "load"}, Call: 1, Return: 2},
		{Client: 0, In: input{Call: "save", Version: 1, Coins: 1}, Call: 3, Return: 6},
		{Client: 1, In: input{Call: "save", Version: 1, Coins: 2}, Call: 4, Return: 5},
	}
	if testreport.Of(t, func(tb testing.TB) { race.Judge(tb, lost) }) == "" {
		t.Error("Judge reports nothing for two saves from one version")
	}
}
