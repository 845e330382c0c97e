// Evaluate is the weft command with two models that need no key: one answers questions, and one
// judges answers. The files show how a change of a workflow is judged by recorded threads.
//
//	cd examples/evaluate
//	go run . run answer.yaml --thread fr --input 'question=The capital of France?'
//	go run . run answer.yaml --thread au --input 'question=The capital of Australia?'
//	go run . replay --all answer.yaml --yes
//	go run . test short.yaml --recorded --yes
//	go run . test short.yaml --recorded --yes --judge judge.yaml
//
// The replay finds no difference. The outputs of short.yaml differ from the recorded ones, so the
// first test fails. With the judge the answer about France passes, and the wrong one about
// Australia does not.
package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/weftcli"
)

func main() { weftcli.Main(config()) }

func config() weftcli.Config {
	return weftcli.Config{Name: "evaluate", Models: map[string]model.Model{"writer": model.ScriptFunc(write), "judge": model.ScriptFunc(judge)}}
}

// write answers in a sentence, or in one word if the system message asks for that. In one word it
// has one capital wrong.
func write(_ context.Context, r model.Request) model.Answer {
	short := strings.Contains(r.Messages[0].Text(), "one word")
	question := r.Messages[len(r.Messages)-1].Text()
	for country, city := range map[string]string{"France": "Paris", "Norway": "Oslo", "Australia": "Canberra"} {
		switch {
		case !strings.Contains(question, country):
		case short && country == "Australia":
			return model.Say("Sydney")
		case short:
			return model.Say(city)
		default:
			return model.Say("The capital of " + country + " is " + city + ".")
		}
	}
	return model.Say("I do not know.")
}

// judge passes an answer that is a part of the reference.
func judge(_ context.Context, r model.Request) model.Answer {
	reference, answer, _ := strings.Cut(r.Messages[len(r.Messages)-1].Text(), "\nanswer: ")
	verdict := struct {
		Pass   bool    `json:"pass"`
		Score  float64 `json:"score"`
		Reason string  `json:"reason"`
	}{true, 1, "the same city"}
	if !strings.Contains(reference, strings.TrimSpace(answer)) {
		verdict.Pass, verdict.Score, verdict.Reason = false, 0, "another city"
	}
	text, err := json.Marshal(verdict)
	if err != nil {
		return model.Fail(err)
	}
	return model.Say(string(text))
}
