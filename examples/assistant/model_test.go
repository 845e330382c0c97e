//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestChat_UsesAModelIfConfigured uses a server that implements OpenAI's protocol.
func TestChat_UsesAModelIfConfigured(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	replies := []struct{ role, content string }{
		{"You write down what", `{"task":"list what is measured of rain","depends_on_chat_history":false,"depends_on_user_memory":false}`},
		{"You decide whether", `{"wanted":true,"reason":"it is asked for"}`},
		{"You plan how", `{"steps":[{"context_key":"r","capability":"find_measurements","task_objective":"find rain","expected_output":"MEASUREMENTS"},` +
			`{"capability":"respond","task_objective":"answer","inputs":[{"type":"MEASUREMENTS","key":"r"}]}]}`},
		{"You answer the user", "There are two."},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 || body.Model != "mine" {
			http.Error(w, "a bad request", http.StatusBadRequest)
			return
		}
		for _, reply := range replies {
			if strings.HasPrefix(body.Messages[0].Content, reply.role) {
				mu.Lock()
				asked[reply.role]++
				mu.Unlock()
				w.Header().Set("Content-Type", "text/event-stream")
				for _, piece := range strings.SplitAfter(reply.content, " ") {
					data, _ := json.Marshal(piece)
					fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", data)
				}
				fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				return
			}
		}
		http.Error(w, "unknown role", http.StatusBadRequest)
	}))
	defer server.Close()
	p := place{t, built(t), t.TempDir(), []string{"WEFT_STORE=sqlite:assistant.db", "OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=mine"}}
	got := p.chat("which measurements of rain do we have?")
	want := `$ assistant chat --thread demo --say 'which measurements of rain do we have?'
!   Extracting the task…
!   Choosing capabilities…
!   Planning…
!   1. find_measurements: find rain
!   2. respond: answer
!   [1/2] find_measurements
!   Writing the answer…
There are two.

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if asked["You decide whether"] != 6 || asked["You plan how"] != 1 || asked["You answer the user"] != 1 {
		t.Errorf("the model was asked %v", asked)
	}
}
