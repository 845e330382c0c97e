package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// role is one of the requests that a turn sends to a model.
type role struct {
	begins string // its prompt
	fine   string // an answer as it should be
	most   int    // how often a turn may ask: its attempts, with one repair each
}

var roleOf = map[string]role{
	"task":    {"You write down what", `{"task":"draw the rain","depends_on_chat_history":false,"depends_on_user_memory":false}`, 6},
	"match":   {"You decide whether", `{"wanted":true}`, 8},
	"plan":    {"You plan how", planned, 16},
	"answer":  {"You answer the user", "Here it is.", 2},
	"clarify": {"The task cannot be done", `{"questions":["What do you mean?"]}`, 4},
	"explain": {"You explain to a user", "It is broken.", 2},
}

// byRole is a model with a server for each role.
type byRole struct {
	t       testing.TB
	models  map[string]model.Model
	servers map[string]*recordedhttp.Server
}

func (b byRole) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	for name, ro := range roleOf {
		if strings.HasPrefix(r.Messages[0].Text(), ro.begins) {
			return b.models[name].Stream(ctx, r)
		}
	}
	b.t.Errorf("unexpected request %q", r.Messages[0].Text())
	return model.Script().Stream(ctx, r)
}

// served returns a model whose role answers with these cases, and then always the last. All other
// roles answer correctly.
func served(t testing.TB, role string, cases ...recordedhttp.Case) byRole {
	b := byRole{t, map[string]model.Model{}, map[string]*recordedhttp.Server{}}
	for name := range roleOf {
		play := []recordedhttp.Case{fineCase(t, name)}
		if name == role {
			play = cases
		}
		s := recordedhttp.NewServer(play...)
		dial := func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go s.Serve(there)
			return here, nil
		}
		m, err := openai.New(openai.Config{
			Model: "m", BaseURL: "http://server.test/v1", Key: "sk-secret-123",
			Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}},
		})
		must(t, err)
		b.models[name], b.servers[name] = m, s
	}
	return b
}

func fineCase(t testing.TB, role string) recordedhttp.Case {
	text, err := json.Marshal(roleOf[role].fine)
	must(t, err)
	return recordedhttp.Stream(`{"choices":[{"index":0,"delta":{"content":` + string(text) + `},"finish_reason":"stop"}]}`)
}

// office returns an agent with a model and the clock of synctest. If a role is only used after some
// event, that event happens.
func office(t testing.TB, m model.Model, role string, store checkpoint.Store) *graph.Graph[agent.State] {
	c := guided(t)
	c.Manager.Clock = nil
	switch role {
	case "clarify":
		c.Plan = script[turn.PlanRequest](t, gives(plans(agent.Step{Capability: agent.ToClarify})))
	case "explain":
		c.Plan = script[turn.PlanRequest](t, fails[agent.Plan](agent.Critical, "something is broken"))
	}
	g, err := turn.Graph("agent", turn.WithModel(c, m), graph.Config{Store: store})
	must(t, err)
	return g
}

// withstands runs a turn with a model that always answers so, and on another thread a turn with a
// model that does so once. It checks that the conversations continue, and returns the text for the
// user.
func withstands(t *testing.T, role string, c recordedhttp.Case) (text string) {
	for _, once := range []bool{true, false} {
		if c.Then == "flood" && !once && racescale.Raced {
			continue // up to 16 floods of megabytes, a minute under the race detector
		}
		store := &checkpoint.Memory{}
		fine := served(t, "")
		before := say(t, office(t, fine, "", store), "t1", "draw it")
		cases := []recordedhttp.Case{c}
		if once {
			cases = append(cases, fineCase(t, role))
		}
		m := served(t, role, cases...)
		began := time.Now()
		res := say(t, office(t, m, role, store), "t1", "and again")
		text = answer(t, res.State)
		if took := time.Since(began); took > 301*time.Second {
			t.Errorf("the turn took %s, and its limit is 300s", took)
		}
		if n := len(m.servers[role].Requests()); n == 0 || n > roleOf[role].most {
			t.Errorf("the model was asked %d times, at most %d are allowed", n, roleOf[role].most)
		}
		if strings.Contains(text, "sk-secret") {
			t.Errorf("the text contains the key: %s", text)
		}
		same(t, "messages", res.State.Messages.Len(), before.State.Messages.Len()+2)
		for ref := range before.State.Context.All() {
			if !res.State.Context.Has(ref.Type, ref.Key) {
				t.Errorf("%v is lost", ref)
			}
		}
		must(t, message.Validate(res.State.Messages.Slice()))
		same(t, "the next answer", answer(t, say(t, office(t, fine, "", store), "t1", "once more").State), "Here it is.")
	}
	return text
}

// TestRecordedAnswers_EndTheTurnWithOneMessage sends each answer of testdata/answers over HTTP, for
// the role that its name begins with.
func TestRecordedAnswers_EndTheTurnWithOneMessage(t *testing.T) {
	cases, err := recordedhttp.Load(filepath.Join("testdata", "answers"))
	must(t, err)
	for _, c := range cases {
		role, _, _ := strings.Cut(c.Name, "-")
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := withstands(t, role, c)
				contains(t, text, c.Text)
				same(t, "the text reports a failure", strings.Contains(text, "could not"), c.Want != "ok")
			})
		})
	}
}

// TestRecordedFailures_EndTheTurnWithOneMessage sends the recorded answers of package openai:
// broken connections, silence, floods, errors.
func TestRecordedFailures_EndTheTurnWithOneMessage(t *testing.T) {
	cases, err := recordedhttp.Load(filepath.Join("..", "..", "capabilities", "model", "openai", "testdata", "answers"))
	must(t, err)
	for i, role := range []string{"plan", "answer"} {
		for j, c := range cases {
			if testing.Short() && (i+j)%2 == 1 {
				continue // each failure in one role
			}
			t.Run(fmt.Sprint(role, " ", c.Name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { withstands(t, role, c) })
			})
		}
	}
}
