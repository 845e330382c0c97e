// Skills is the weft command with a model that needs no key and works by the folder skills.
//
//	cd examples/skills
//	go run . run ask.yaml --allow-exec --input 'question=Tea costs 3 and cake costs 5 euros'
//
// The model sees the description of the skill, loads its instructions, reads a file of it and runs
// its script. Without --allow-exec the script is not offered.
package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/weftcli"
)

func main() { weftcli.Main(config()) }

func config() weftcli.Config {
	return weftcli.Config{Name: "skills", Models: map[string]model.Model{"assistant": model.ScriptFunc(answer)}}
}

var price = regexp.MustCompile(`\d+`)

// answer takes the place of a model: it does what the instructions of the skill receipt say.
func answer(_ context.Context, r model.Request) model.Answer {
	var results []string // so far
	question := ""
	offered := map[string]bool{}
	for _, t := range r.Tools {
		offered[t.Name] = true
	}
	for _, m := range r.Messages {
		if m.Role == message.RoleUser {
			question = m.Text()
		}
		for _, one := range m.Results {
			results = append(results, one.Text())
		}
	}
	switch len(results) {
	case 0:
		return call("skills_load", map[string]string{"skill": "receipt"})
	case 1:
		return call("skills_read", map[string]string{"skill": "receipt", "file": "format.md"})
	case 2:
		if !offered["skills_run"] {
			return model.Say("I must not run the script.")
		}
		return call("skills_run", map[string]string{"skill": "receipt", "script": "total.sh", "input": strings.Join(price.FindAllString(question, -1), "\n") + "\n"})
	}
	return model.Say("The total is " + strings.TrimSpace(results[2]) + " euros.")
}

func call(name string, args map[string]string) model.Answer {
	data, err := json.Marshal(args)
	if err != nil {
		return model.Fail(err)
	}
	return model.Ask(message.Call{ID: name, Name: name, Arguments: data})
}
