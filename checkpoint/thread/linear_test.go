package thread_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/thread"
)

// childEnv makes the test binary another process that writes to the file it names.
const childEnv = "WEFT_THREAD_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

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
	// told is a line of a story.
	told struct {
		Client       int
		Did          did
		Saw          saw
		Call, Return int64
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

var specification = porcupine.Model{
	Init: func() any { return register{} },
	Step: func(state, input, output any) (bool, any) { return state.(register).next(input.(did), output.(saw)) },
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

func newWriter(t testing.TB, client int, seed uint64, docs document.Store) *writer {
	m, err := thread.NewManager(thread.NewRepository[purse](docs), thread.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &writer{client: client, rnd: rand.New(rand.NewPCG(seed, uint64(client))), session: m.Begin()}
}

func (w *writer) story(ctx context.Context, n int) (story []told, err error) {
	for range n {
		line := told{Client: w.client, Did: w.choose(), Call: time.Now().UnixNano()}
		if line.Saw, err = w.do(ctx, line.Did); err != nil {
			return nil, err
		}
		line.Return = time.Now().UnixNano()
		story = append(story, line)
	}
	return story, nil
}

func (w *writer) choose() did {
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

func (w *writer) do(ctx context.Context, d did) (s saw, err error) {
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

// judge looks whether stories can be told as one, in which each call happens at once.
func judge(t *testing.T, stories ...[]told) {
	t.Helper()
	var all []porcupine.Operation
	conflicts, saves := 0, 0
	for _, line := range slices.Concat(stories...) {
		all = append(all, porcupine.Operation{ClientId: line.Client, Input: line.Did, Output: line.Saw, Call: line.Call, Return: line.Return})
		if line.Did.What == "save" {
			saves++
			if line.Saw.Conflict {
				conflicts++
			}
		}
	}
	t.Logf("%d calls, %d saves, %d conflicts", len(all), saves, conflicts)
	if got := porcupine.CheckOperationsTimeout(specification, all, time.Minute); got != porcupine.Ok {
		t.Errorf("rule: what racing writers see of a thread can be told as one story\n got: %s after %d calls\nwant: %s", got, len(all), porcupine.Ok)
	}
}

func begin(t *testing.T, docs document.Store) {
	t.Helper()
	if err := thread.NewRepository[purse](docs).SetConfig(t.Context(), "t1", thread.Config{}); err != nil {
		t.Fatal(err)
	}
}

// together lets writers write at once.
func together(t *testing.T, n int, writers ...*writer) [][]told {
	t.Helper()
	stories := make([][]told, len(writers))
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			var err error
			if stories[i], err = w.story(t.Context(), n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return stories
}

func TestManyGoroutinesLoseNoUpdateOfAThread(t *testing.T) {
	for seed := range uint64(20) {
		docs := &document.Map{}
		begin(t, docs)
		var writers []*writer
		for client := range 4 {
			writers = append(writers, newWriter(t, client, seed, docs))
		}
		judge(t, together(t, 25, writers...)...)
	}
}

// TestTheSpecificationNoticesLostUpdates lets a store forget conditions.
func TestTheSpecificationNoticesLostUpdates(t *testing.T) {
	lost := []told{
		{0, did{What: "load"}, saw{}, 1, 2},
		{0, did{What: "save", Version: 1, Coins: 1}, saw{}, 3, 6},
		{1, did{What: "save", Version: 1, Coins: 2}, saw{}, 4, 5},
	}
	var all []porcupine.Operation
	for _, l := range lost {
		all = append(all, porcupine.Operation{ClientId: l.Client, Input: l.Did, Output: l.Saw, Call: l.Call, Return: l.Return})
	}
	if got := porcupine.CheckOperationsTimeout(specification, all, time.Minute); got != porcupine.Illegal {
		t.Errorf("rule: two saves from one version cannot both succeed\n got: %s\nwant: %s", got, porcupine.Illegal)
	}
}

func TestTwoProcessesLoseNoUpdateOfAThread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	docs := openFile(t, path)
	begin(t, docs)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+path), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() { // it is ready
		t.Fatal("the other process said nothing")
	}
	fmt.Fprintln(in, "go")
	stories := together(t, 60, newWriter(t, 0, 1, docs), newWriter(t, 1, 1, docs))
	var theirs []told
	for lines.Scan() {
		var line told
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, line)
	}
	if err := cmd.Wait(); err != nil || len(theirs) != 120 {
		t.Fatalf("the other process did %d calls: %v", len(theirs), err)
	}
	judge(t, append(stories, theirs)...)
}

// child is the other process: it says that it is ready, waits for a line, and tells what it did.
func child(path string) error {
	ctx := context.Background()
	s, err := sqlite.OpenConfig(ctx, path, sqlite.Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	docs, err := s.Documents(ctx)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if !bufio.NewScanner(os.Stdin).Scan() {
		return errors.New("nobody says go")
	}
	stories, errs := make([][]told, 2), make([]error, 2)
	var wg sync.WaitGroup
	for i := range stories {
		wg.Go(func() { stories[i], errs[i] = newWriter(nil, 2+i, 2, docs).story(ctx, 60) })
	}
	wg.Wait()
	e := json.NewEncoder(os.Stdout)
	for _, line := range slices.Concat(stories...) {
		errs = append(errs, e.Encode(line))
	}
	return errors.Join(errs...)
}
