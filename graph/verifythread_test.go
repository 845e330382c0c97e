package graph_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// keyOf returns the key of a person, always the same.
func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func publicOf(name string) ed25519.PublicKey { return keyOf(name).Public().(ed25519.PublicKey) }

// refunded returns a store with a thread whose question is answered by ann, and which she edits.
func refunded(t *testing.T, store checkpoint.Store) checkpoint.Store {
	t.Helper()
	g := refunding(t, checkpoint.WithHashes(store), graph.Approval[refund]{})
	ctx, run := graph.WithSigner(t.Context(), keyOf("ann")), graph.RunOptions{Thread: "t", By: "ann"}
	res, err := g.Invoke(ctx, world{}, run)
	if err == nil {
		_, err = g.Resume(ctx, graph.Answer(res.Interrupts[0].ID, true), run)
	}
	if err == nil {
		_, err = g.Patch(ctx, func(s *world) error { s.Name.Set("edited"); return nil }, run)
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func verified(t *testing.T, store checkpoint.Store, thread string, trusted ...ed25519.PublicKey) *graph.Verification {
	t.Helper()
	v, err := graph.VerifyThread(t.Context(), store, thread, trusted...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerifyThread_WhoSigned(t *testing.T) {
	store := refunded(t, new(checkpoint.Memory))
	v := verified(t, store, "t", publicOf("bob"), publicOf("ann"))
	if err := v.Err(); err != nil || v.Signed != 2 || v.Unsigned != 0 || v.Decisions != 2 {
		t.Errorf("got %v, %+v; want two decisions that are signed", err, *v)
	}
	v = verified(t, store, "t", publicOf("bob"))
	if err := v.Err(); !errors.Is(err, graph.ErrNotVerified) || len(v.Rejected) != 2 || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("got %v, %+v; want both decisions rejected", err, v.Rejected)
	}
	for d, err := range graph.ThreadDecisions(t.Context(), store, "t") {
		if err != nil || d.Signature == nil || d.Signature.Commit == nil || d.Prev == "" {
			t.Errorf("got %+v, %v; want a decision with its signature and hash", d, err)
		}
	}
}

func TestVerifyThread_WithoutHashesAndSignatures(t *testing.T) {
	store := new(checkpoint.Memory)
	g := refunding(t, store, graph.Approval[refund]{})
	res, err := g.Invoke(t.Context(), world{}, graph.RunOptions{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, store, "t"); v.Err() != nil || v.Unsigned != 1 || v.Signed != 0 {
		t.Errorf("got %v, %+v", v.Err(), *v)
	}
	if err := verified(t, store, "t", publicOf("ann")).Err(); err == nil || !strings.Contains(err.Error(), "it is not signed") {
		t.Errorf("got %v; want that it is not signed", err)
	}
	_, err = graph.VerifyThread(t.Context(), store, "nowhere")
	if !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("an unknown thread: got %v, want ErrUnknownThread", err)
	}
	if _, err = graph.VerifyThread(t.Context(), store, "t", ed25519.PublicKey("short")); err == nil {
		t.Error("a trusted key of 5 bytes is accepted")
	}
}

func TestWithSigner_RefusesABadKey(t *testing.T) {
	g := refunding(t, new(checkpoint.Memory), graph.Approval[refund]{})
	_, err := g.Invoke(graph.WithSigner(t.Context(), ed25519.PrivateKey("short")), world{}, graph.RunOptions{Thread: "t"})
	if !errors.Is(err, graph.ErrSigner) {
		t.Errorf("got %v, want ErrSigner", err)
	}
}

func TestWithSigner_IsNotPrinted(t *testing.T) {
	var seen string
	b := graph.New[world]("g")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error { seen = fmt.Sprintf("%+v %#v", ctx, ctx); return nil }))
	through(b, "a")
	key := keyOf("ann")
	if _, err := build(t, b, graph.Config{}).Invoke(graph.WithSigner(t.Context(), key), world{}, graph.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if seen == "" || strings.Contains(seen, strings.Trim(fmt.Sprint([]byte(key[:8])), "[]")) {
		t.Error("the context of a node shows the key")
	}
}

// commitLine is the line of a commit in an exported file.
type commitLine struct {
	Namespace string            `json:"namespace"`
	Number    uint64            `json:"number,omitempty"`
	ID        string            `json:"id,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Record    map[string]any    `json:"record,omitempty"`
	Refs      []any             `json:"refs,omitempty"`
	Blobs     []struct {
		Field string          `json:"field"`
		Base  uint64          `json:"base"`
		Chunk int             `json:"chunk,omitempty"`
		Value json.RawMessage `json:"value"`
	} `json:"blobs,omitempty"`
	Beside []any `json:"beside,omitempty"`
}

// forgeWhole changes texts of a thread and makes all hashes anew, as an attacker does who knows
// this package and has no key.
func forgeWhole(t *testing.T, store checkpoint.Store, change *strings.Replacer) checkpoint.Store {
	t.Helper()
	var file, forged bytes.Buffer
	if err := checkpoint.Export(t.Context(), store, "t", &file); err != nil {
		t.Fatal(err)
	}
	sum, tags, prev, decision := sha256.New(), map[string]string{}, hashOf(nil), hashOf(nil)
	write := func(object []byte) {
		sum.Write(append(object, '\n'))
		fmt.Fprintf(&forged, "%s %s\n", hex.EncodeToString(sum.Sum(nil))[:32], object)
	}
	for line := range strings.Lines(file.String()) {
		_, object, _ := strings.Cut(strings.TrimSpace(line), " ")
		var c commitLine
		if err := json.Unmarshal([]byte(change.Replace(object)), &c); err != nil {
			t.Fatal(err)
		}
		if c.Record == nil {
			write([]byte(object))
			continue
		}
		for i, b := range c.Blobs {
			value := b.Value
			if b.Field == "+decisions" {
				var all []json.RawMessage
				_ = json.Unmarshal(value, &all)
				for j, d := range all {
					before, _, _ := bytes.Cut(d, []byte(`,"prev":`))
					all[j] = fmt.Appendf(nil, `%s,"prev":"%s"}`, before, decision)
					decision = hashOf(all[j])
				}
				value, _ = json.Marshal(all)
				c.Blobs[i].Value = value
			}
			key := fmt.Sprint(b.Field, b.Base)
			digest := sha256.Sum256(append([]byte(tags[key]), value...))
			tags[key] = base64.RawStdEncoding.EncodeToString(digest[:16])
		}
		for _, f := range c.Record["fields"].([]any) {
			f := f.(map[string]any)
			if base, ok := f["b"]; ok {
				f["t"] = tags[fmt.Sprint(f["n"], base)]
			}
		}
		c.Record["prev"] = prev
		record, _ := json.Marshal(c.Record)
		prev = hashOf(record)
		data, _ := json.Marshal(c)
		write(data)
	}
	to := new(checkpoint.Memory)
	if err := checkpoint.Import(t.Context(), to, "t", &forged); err != nil {
		t.Fatal(err)
	}
	return to
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Hashes that are made anew do not show a change. The signatures do.
func TestVerifyThread_SignaturesFindAForgedHistory(t *testing.T) {
	store := refunded(t, new(checkpoint.Memory))
	for name, c := range map[string]struct {
		change *strings.Replacer
		want   string
	}{
		"the person":          {strings.NewReplacer(`"by":"ann"`, `"by":"eve"`), "its signature does not match"},
		"the answer":          {strings.NewReplacer(`"value":true`, `"value":null`), "its signature does not match"},
		"an unknown member":   {strings.NewReplacer(`"by":"ann"`, `"by":"ann","note":"late"`), "it has parts that are not signed"},
		"the history before":  {strings.NewReplacer(`"graph":"refund"`, `"graph":"reward"`), "is not the one that it signs"},
		"no signature":        {strings.NewReplacer(`"signature":`, `"seal":`), "it is not signed"},
		"the key":             {strings.NewReplacer(`"key":"`+base64.StdEncoding.EncodeToString(publicOf("ann")), `"key":"`+base64.StdEncoding.EncodeToString(publicOf("bob"))), "its signature does not match"},
		"a key of other size": {strings.NewReplacer(`"key":"`, `"key":"AAAA`), "its signature cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verified(t, forgeWhole(t, store, c.change), "t", publicOf("ann"))
			if len(v.Changed) > 0 {
				t.Fatalf("the forger has made a mistake: %v", v.Changed)
			}
			if err := v.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if err := verified(t, forgeWhole(t, store, strings.NewReplacer()), "t").Err(); err == nil {
		// The records have other bytes now, so the signed commits are not there.
		t.Error("a history whose records were written anew is verified")
	}
}

// A decision cannot be taken from one thread to another.
func TestVerifyThread_DecisionOfAnotherThread(t *testing.T) {
	store := refunded(t, new(checkpoint.Memory))
	var taken []json.RawMessage
	for d, err := range graph.ThreadDecisions(t.Context(), store, "t") {
		if err != nil {
			t.Fatal(err)
		}
		d.Prev = ""
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, data)
	}
	other := new(checkpoint.Memory)
	g := refunding(t, other, graph.Approval[refund]{})
	if _, err := g.Invoke(t.Context(), world{}, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	schema, err := state.SchemaOf[world]()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := checkpoint.Open(t.Context(), other, checkpoint.Key{Thread: "t"}, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := chain.Put(t.Context(), []checkpoint.Entry{{Slot: checkpoint.SlotDecision + "x/y", Data: taken[0], Keep: true}}); err != nil {
		t.Fatal(err)
	}
	if err := verified(t, other, "t", publicOf("ann")).Err(); err == nil || !strings.Contains(err.Error(), "for another thread") {
		t.Errorf("got %v, want that it was signed for another thread", err)
	}
}

// A subgraph that begins in a program without WithHashes carries hashes, since its parent does.
func TestVerifyThread_HashesOfSubgraphs(t *testing.T) {
	store := new(checkpoint.Memory)
	program := func(store checkpoint.Store) *graph.Graph[world] {
		in := graph.New[world]("in")
		in.Node("work", graph.Func(func(ctx context.Context, s *world) error { s.Log.Append("worked"); return nil }))
		through(in, "work")
		b := graph.New[world]("out")
		b.Node("ask", graph.Func(func(ctx context.Context, s *world) error {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Go on?"})
			return err
		}))
		b.Node("child", graph.Subgraph(build(t, in, graph.Config{Nested: graph.PerThread}), func(*world) (world, error) { return world{}, nil }, func(*world, *world) error { return nil }))
		through(b, "ask", "child")
		return build(t, b, graph.Config{Store: store})
	}
	run := graph.RunOptions{Thread: "t"}
	res, err := program(checkpoint.WithHashes(store)).Invoke(t.Context(), world{}, run)
	if err == nil {
		_, err = program(store).Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), run)
	}
	if err != nil {
		t.Fatal(err)
	}
	v := verified(t, store, "t")
	if len(v.Chains) != 2 || v.Err() != nil {
		t.Fatalf("got %+v, %v; want two namespaces", v.Chains, v.Err())
	}
	for _, c := range v.Chains {
		if c.Hashed != c.Commits || c.Since != 1 {
			t.Errorf("got %+v, want a hash in each commit", c)
		}
	}
}

// The first commit of a thread may be a decision too.
func TestVerifyThread_ThreadBegunByAnEdit(t *testing.T) {
	store := new(checkpoint.Memory)
	g := refunding(t, checkpoint.WithHashes(store), graph.Approval[refund]{})
	begin := graph.Edit[world]{As: graph.Start, Do: func(s *world) (graph.Command, error) { s.Name.Set("x"); return graph.Command{}, nil }}
	if _, err := g.Edit(graph.WithSigner(t.Context(), keyOf("ann")), [][]graph.Edit[world]{{begin}}, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, store, "t", publicOf("ann")); v.Err() != nil || v.Signed != 1 || v.Unanchored != 1 {
		t.Errorf("got %v, %+v; want one signed decision without a commit before it", v.Err(), *v)
	}
}

// Commits that are missing do not hide a change behind a valid signature: it is counted.
func TestVerifyThread_CountsSignaturesOfMissingCommits(t *testing.T) {
	store := refunded(t, new(checkpoint.Memory))
	if err := checkpoint.Prune(t.Context(), store, "t", checkpoint.Keep{Last: 1}); err != nil {
		t.Fatal(err)
	}
	v := verified(t, store, "t", publicOf("ann"))
	if v.Err() != nil || v.Signed != 2 || v.Unanchored != 2 || v.Chains[0].Since != v.Chains[0].Head {
		t.Errorf("got %v, %+v; want two signatures whose commits are missing", v.Err(), *v)
	}
}
