package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const docs = "../../docs"

func TestRun_FindsTheSectionByWordsAndLetters(t *testing.T) {
	for question, want := range map[string]string{
		"which model providers does the table of models list?": "models.md:",
		"recipprocal rank fusoin":                              "retrieval.md:", // with mistakes
	} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-docs", docs, question}, &out); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 3 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got\n%s\nwant three sections, one of %s", question, out.String(), want)
		}
	}
}

// A server with the protocol of OpenAI makes the vectors. It knows one meaning: a text about keys.
func TestRun_AsksAModel(t *testing.T) {
	asked := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/embeddings" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		asked += len(q.Input)
		var data []map[string]any
		for _, text := range q.Input {
			v := []float64{1, 0}
			if strings.Contains(text, "OPENAI_API_KEY") || strings.Contains(text, "password") {
				v = []float64{0.1, 1}
			}
			data = append(data, map[string]any{"embedding": v})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "model": "m"})
	}))
	defer web.Close()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-docs", docs, "-url", web.URL + "/v1", "-model", "m", "-dims", "2", "password"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "meaning: 1)") || asked < 100 {
		t.Errorf("got\n%s\nand %d texts, want the nearest section", out.String(), asked)
	}
	web.Close()
	if err := run(t.Context(), []string{"-docs", docs, "-url", web.URL + "/v1", "-model", "m", "-dims", "2", "password"}, &out); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("got %v, want the failure of a model that cannot be reached", err)
	}
}

func TestRun_NamesAFolderWithoutPages(t *testing.T) {
	if err := run(t.Context(), []string{"-docs", t.TempDir(), "x"}, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "there are no pages in") {
		t.Errorf("got %v", err)
	}
}
