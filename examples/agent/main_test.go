package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/checkpoint"
)

// converse runs turns on one thread, each with a newly compiled graph.
func converse(t *testing.T, answers string, turns ...string) string {
	t.Helper()
	var out bytes.Buffer
	store := &checkpoint.Memory{}
	in := bufio.NewScanner(strings.NewReader(answers))
	for _, said := range turns {
		g, err := support(rules(), store)
		if err != nil {
			t.Fatal(err)
		}
		if err := talk(t.Context(), g, "t", said, in, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestAgent_RefundsAfterApproval(t *testing.T) {
	got := converse(t, "y\n", "What became of A-17?", "Then give me the money back.", "And A-99?")
	want := `Your order A-17, a blue kettle, arrived broken.
? Pay it back? refund { "amount": 39.9, "id": "A-17" } [y/N] 
Done: paid back 39.90 for A-17.
I am sorry: there is no order "A-99"
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAgent_DoesNotRefundWithoutApproval(t *testing.T) {
	for _, answer := range []string{"n\n", "", "perhaps\n"} {
		got := converse(t, answer, "I want the money back for A-17.")
		if strings.Contains(got, "paid back") || !strings.Contains(got, "The person's feedback: not now") {
			t.Errorf("%q: got %s", answer, got)
		}
	}
}

func TestChoose_ReadsTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "no address")
	if _, err := choose(); err == nil {
		t.Error("got no error for an invalid OPENAI_BASE_URL")
	}
	t.Setenv("OPENAI_BASE_URL", "")
	if m, err := choose(); err != nil || m == nil {
		t.Errorf("got %v, %v", m, err)
	}
}
