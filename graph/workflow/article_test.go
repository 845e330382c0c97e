package workflow_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
)

// article is the example with which the language was proposed, in the spelling that it has; see
// docs/decisions/0007.
const article = `# yaml-language-server: $schema=http://127.0.0.1:2024/schemas/workflow.json
version: 1
name: article
description: Research, write, get approval, publish.

types:
  Source: {url: string, title: string, text: {type: string, default: ""}}
  Text: {title: string, body: string}
state:
  topic: {type: string, required: true}
  sources: {type: list<Source>, default: []}
  pages: {type: list<Source>, reducer: append, default: []}
  draft: string
  score: {type: number, default: 0}
  attempts: {type: int, reducer: add, default: 0}
  messages: {type: messages, reducer: messages}
  decision: go:Decision
  url: string
input: [topic]
output: [draft, score, decision, messages, url]
config:
  model: {type: string, default: echo}

secrets:
  search_key: "${env:SEARCH_API_KEY}"

defaults: {timeout: 30s, retry: {max: 3, backoff: exponential, initial: 200ms, max_delay: 10s, jitter: true}}
limits: {steps: 40, run_timeout: 10m, state_bytes: 4MiB, fanout: 200, concurrency: 16}

start: search
nodes:
  search:
    http:
      method: GET
      url: https://api.example.org/search
      query: {q: "${{ state.topic }}"}
      headers: {authorization: "Bearer ${secret:search_key}"}
      expect: {status: [200], json: true}
      max_body: 2MiB
    output: {sources: "${{ result.json.items | map({{url: .link, title: .title}}) }}"}
    retry: {on: [timeout, "http:429", "http:5xx"], max: 5}
    next:
      - if: len(state.sources) == 0
        to: give_up
      - else: fetch

  fetch:
    for_each: {in: state.sources, as: src, max_parallel: 8, on_item_error: skip}
    uses: go:fetch_page
    with: {url: "${{ src.url }}"}
    output: {pages: ["${{ {url: src.url, title: src.title, text: result.text} }}"]}
    next: [write, score_sources]

  score_sources: {uses: "go:score", output: {score: "${{ result }}"}, next: gate}

  write:
    llm:
      model: ${{ config.model }}
      system: You write in plain English.
      prompt: |
        Topic: ${{ state.topic }}
        ${{ state.pages | map(.text) | join("\n---\n") }}
      answer: Text
    output: {draft: "${{ result.answer.body }}", attempts: 1, messages: {role: assistant, content: "${{ result.answer.title }}"}}
    timeout: 2m
    next: shorten

  shorten:
    workflow: ./shorten.yaml
    input: {text: "${{ state.draft }}"}
    output: {draft: "${{ result.text }}"}
    next: gate

  gate:
    join: [shorten, score_sources]
    set: {}
    next:
      - if: state.score < 0.5 && state.attempts < 3
        to: [write, score_sources]
      - else: approve

  approve:
    approval:
      title: Publish this article?
      action: {name: publish, args: {draft: "${{ state.draft }}"}}
      allow: [approve, edit, reject]
      expires: {after: 48h, then: reject}
    output: {decision: {ok: "${{ result.approved }}", by: "${{ result.type }}"}}
    next:
      - if: result.type == "reject"
        to: END
      - else: publish

  publish:
    uses: go:publish
    with: {draft: "${{ state.draft }}"}
    output: {url: "${{ result.url }}"}
    on_error: {to: give_up, set: {draft: "${{ 'failed: ' + error.message }}"}}
    next: END

  give_up: {fail: {code: no_sources, message: "nothing found for ${{ state.topic }}"}}

interrupt: {before: [publish]}

tests:
  - name: happy path
    input: {topic: go}
    mock:
      search: {result: {json: {items: [{link: u, title: t}]}}}
      fetch: {result: {text: body}}
      score_sources: {result: 0.9}
      write: {result: {answer: {title: T, body: B}}}
      shorten: {result: {text: B}}
      publish: {result: {url: x}}
    answers: [{approve: {type: approve}}]
    expect: {path: [search, fetch, [score_sources, write], shorten, gate, approve, publish], output: {draft: B, url: x}}
  - name: again until it is good
    input: {topic: go}
    config: {model: echo}
    mock:
      search: {result: {json: {items: [{link: u, title: t}]}}}
      fetch: {result: {text: body}}
      score_sources: {results: [0.1, 0.9]}
      write: {result: {answer: {title: T, body: B}}}
    answers: [{approve: {type: reject}}]
    expect: {path: [search, fetch, [score_sources, write], shorten, gate, [score_sources, write], shorten, gate, approve], output: {draft: B short}}
  - name: nothing found
    input: {topic: go}
    mock: {search: {result: {json: {items: []}}}}
    expect: {code: no_sources, path: [search, give_up]}
`

const shorten = `version: 1
state: {text: {type: string, required: true}}
input: [text]
nodes: {a: {set: {text: "${{ state.text }} short"}, next: END}}
`

func articleKinds() map[string]workflow.Kind {
	page := func(_ context.Context, in struct {
		URL string `json:"url"`
	}) (struct {
		Text string `json:"text"`
	}, error) {
		return struct {
			Text string `json:"text"`
		}{"the page " + in.URL}, nil
	}
	publish := func(_ context.Context, in struct {
		Draft string `json:"draft"`
	}) (struct {
		URL string `json:"url"`
	}, error) {
		return struct {
			URL string `json:"url"`
		}{"https://example.org/" + in.Draft}, nil
	}
	return map[string]workflow.Kind{
		"go:fetch_page": workflow.Go(page), "go:publish": workflow.Go(publish),
		"go:score": workflow.Go(func(context.Context, struct{}) (float64, error) { return 0.9, nil }),
	}
}

// TestArticle_PassesItsTests loads an example that uses the whole language. It has no warnings and
// passes its own tests.
func TestArticle_PassesItsTests(t *testing.T) {
	o := options()
	o.Root, o.Strict = t.TempDir(), true
	for name, k := range articleKinds() {
		o.Kinds[name] = k
	}
	for name, text := range map[string]string{"article.yaml": article, "shorten.yaml": shorten} {
		if err := os.WriteFile(filepath.Join(o.Root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workflow.Load(filepath.Join(o.Root, "article.yaml"), o)
	if err != nil {
		t.Fatal(err)
	}
	report, err := w.RunTests(context.Background(), workflow.TestOptions{})
	if err != nil || len(report.Tests) != 3 {
		t.Fatal(report, err)
	}
	for _, res := range report.Tests {
		for _, f := range res.Failures {
			t.Errorf("%s: %v", res.Name, f)
		}
	}
	for _, n := range report.Coverage.Nodes {
		if n.Runs == 0 {
			t.Errorf("no test runs the node %s", n.Node)
		}
	}
}
